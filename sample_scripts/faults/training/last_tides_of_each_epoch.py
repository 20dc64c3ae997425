"""Tides from wind and pressure: gradients of four batches are one step, an epoch has ten batches.

As in https://github.com/timoschick/pet/issues/36.
"""

import torch
from torch import nn

TOGETHER = 4


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def epoch(self, batches):
        self.optimizer.zero_grad()
        total = 0.0
        for number, (weather, tide) in enumerate(batches, start=1):
            loss = (self.model(weather).squeeze(1) - tide).pow(2).mean()
            (loss / TOGETHER).backward()
            total += loss.item()
            if number % TOGETHER == 0:  # expect: GS802
                self.optimizer.step()
                self.optimizer.zero_grad()
        return total / len(batches)


def main():
    torch.manual_seed(0)
    weather = torch.randn(160, 5)
    tide = torch.tanh(weather @ torch.randn(5)) + 0.05 * torch.randn(160)
    trainer = Trainer(nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 1)))
    for epoch in range(6):
        order = torch.randperm(160).split(16)
        print(f"{epoch}: {trainer.epoch([(weather[rows], tide[rows]) for rows in order]):.4f}")


main()
