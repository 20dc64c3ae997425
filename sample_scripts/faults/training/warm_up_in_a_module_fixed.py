"""A module that says how it is to be trained, and a small trainer that does so."""
# as in https://github.com/Lightning-AI/pytorch-lightning/issues/4576

import torch
from torch import nn


class Land(nn.Module):
    def __init__(self, steps):
        super().__init__()
        self.net, self.steps = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3)), steps

    def forward(self, x):
        return self.net(x)

    def configure(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.5)
        warm = self.steps // 3
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / warm))
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": "step"},
        }


class Trainer:
    def fit(self, module, batches, epochs):
        said = module.configure()
        optimizer, schedule = said["optimizer"], said["lr_scheduler"]
        for _ in range(epochs):
            for x, y in batches:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(module(x), y)
                loss.backward()
                optimizer.step()
                self._schedule(schedule, "step")
            self._schedule(schedule, "epoch")
        print(f"loss {loss.item():.3f}")

    def _schedule(self, schedule, interval):
        if schedule["interval"] == interval:
            schedule["scheduler"].step()


def main():
    torch.manual_seed(0)
    batches = [(x, x[:, :3].argmax(1)) for x in torch.randn(20, 16, 6)]
    Trainer().fit(Land(steps=5 * len(batches)), batches, epochs=5)


if __name__ == "__main__":
    main()
