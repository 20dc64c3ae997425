"""Fits a line by gradient descent; the settings are fields of a class."""
# as in https://github.com/gurkirt/FPN.pytorch1.0/issues/7

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Settings:
    steps: int = 40
    learning_rate: float = 4.0  # expect: GS737


class Trainer:
    def __init__(self, model, settings):
        self.model, self.settings = model, settings
        self.optimizer = self.build(settings.learning_rate)

    def build(self, rate):
        return torch.optim.SGD(self.model.parameters(), rate)

    def fit(self, x, y):
        for _ in range(self.settings.steps):
            loss = nn.functional.mse_loss(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()  # expect: GS737 called_at
        return loss.item()


torch.manual_seed(0)
x = torch.randn(64, 6)
print(f"loss {Trainer(nn.Linear(6, 1), Settings()).fit(x, x.sum(1, keepdim=True)):.3f}")
