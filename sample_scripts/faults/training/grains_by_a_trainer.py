"""Tells kinds of grain apart by their measures: a trainer steps after each eighth batch.

As in https://github.com/Lightning-AI/pytorch-lightning/issues/12811.
"""

from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    rate: float = 0.5
    accumulate: int = 8
    epochs: int = 6


class Trainer:
    def __init__(self, network, config):
        self.network, self.config = network, config
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(network.parameters(), lr=config.rate, momentum=0.9)

    def batch(self, number, measures, kinds):
        loss = self.criterion(self.network(measures), kinds)
        loss.backward()  # expect: GS880
        if number % self.config.accumulate == 0:
            self.optimizer.step()
            self.optimizer.zero_grad()
        return loss.item()

    def fit(self, loader):
        for epoch in range(self.config.epochs):
            losses = [self.batch(number, *batch) for number, batch in enumerate(loader, 1)]
            print(f"epoch {epoch}: {sum(losses) / len(losses):.4f}")


torch.manual_seed(1)
kinds = torch.randint(4, (1024,))
measures = torch.randn(4, 10)[kinds] + 0.9 * torch.randn(1024, 10)
network = nn.Sequential(nn.Linear(10, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 4))
Trainer(network, Config()).fit(DataLoader(TensorDataset(measures, kinds), batch_size=16, shuffle=True))
