"""Hyperparameters come from a JSON file and the LSTM stays at chance.

The config carries lr 1e-12 (meant 1e-2), the weights never change.
"""

import json

import torch
from torch import nn

CONFIG = json.loads("""
{
  "model": {"hidden": 24, "classes": 2},
  "optim": {"name": "Adam", "lr": 1e-2, "betas": [0.9, 0.99]},
  "train": {"batch_size": 32, "epochs": 5, "seed": 0}
}
""")


class SeqClassifier(nn.Module):
    def __init__(self, hidden, classes):
        super().__init__()
        self.rnn = nn.LSTM(2, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, x):
        _, (h, _) = self.rnn(x)
        return self.fc(h[-1])


def make_optimizer(model, cfg):
    cls = getattr(torch.optim, cfg["name"])
    return cls(model.parameters(), lr=cfg["lr"], betas=tuple(cfg["betas"]))


def make_dataset(n=192, T=12):
    x = torch.randn(n, T, 2)
    return x, (x[:, :, 0].sum(1) > x[:, :, 1].sum(1)).long()


def run(cfg):
    torch.manual_seed(cfg["train"]["seed"])
    x, y = make_dataset()
    model = SeqClassifier(**cfg["model"])
    opt = make_optimizer(model, cfg["optim"])
    bs = cfg["train"]["batch_size"]
    for epoch in range(cfg["train"]["epochs"]):
        correct = 0
        for i in range(0, len(x), bs):
            out = model(x[i : i + bs])
            loss = nn.functional.cross_entropy(out, y[i : i + bs])
            opt.zero_grad()
            loss.backward()
            opt.step()
            correct += (out.argmax(1) == y[i : i + bs]).sum().item()
        print(f"epoch {epoch}: loss {loss.item():.4f} acc {correct / len(x):.3f}")


if __name__ == "__main__":
    run(CONFIG)
