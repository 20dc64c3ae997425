"""Trainer for a convnet keeps an in-memory checkpoint dict (epoch, score, weights) and restores it when done.

The weights in the dict follow the model, nothing is restored.

The same happened in https://github.com/WenjieDu/PyPOTS/issues/667
"""

import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv1d(1, 8, 5), nn.ReLU(), nn.Conv1d(8, 8, 5), nn.ReLU())
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.features(x).mean(-1))


def signals(n):
    y = torch.randint(0, 3, (n,))
    t = torch.arange(40.0)
    freq = 0.3 + 0.25 * y[:, None]
    return TensorDataset((torch.sin(freq * t + torch.rand(n, 1) * 6) + 0.8 * torch.randn(n, 40))[:, None], y)


class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
        self.best = {"epoch": -1, "acc": 0.0}

    @torch.no_grad()
    def accuracy(self, loader):
        self.model.eval()
        hits = sum((self.model(x).argmax(1) == y).sum().item() for x, y in loader)
        self.model.train()
        return hits / len(loader.dataset)

    def fit(self, train, val, epochs=9):
        for epoch in range(epochs):
            for x, y in train:
                self.opt.zero_grad()
                loss = nn.functional.cross_entropy(self.model(x), y)
                loss.backward()
                self.opt.step()
            acc = self.accuracy(val)
            print(f"epoch {epoch} loss {loss.item():.3f} val acc {acc:.3f}")
            if acc > self.best["acc"]:
                self.best = {
                    "epoch": epoch,
                    "acc": acc,
                    "optimizer": copy.deepcopy(self.opt.state_dict()),
                    "model": self.model.state_dict(),  # expect: GS830
                }
        self.model.load_state_dict(self.best["model"])
        print("restored epoch", self.best["epoch"], f"val acc now {self.accuracy(val):.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    train = DataLoader(signals(128), batch_size=32, shuffle=True)
    val = DataLoader(signals(96), batch_size=48)
    Trainer(ConvNet()).fit(train, val)
