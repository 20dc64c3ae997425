"""Two networks are trained on one loss; both lines clip the second one. As in https://github.com/google-deepmind/open_spiel/issues/827."""

from dataclasses import dataclass, field

import torch
from torch import nn
from torch.nn.utils import clip_grad_value_


@dataclass
class Rates:
    season: float = 0.05
    trend: float = 0.01
    bound: float = 0.5
    names: tuple[str, ...] = field(default=("season", "trend"))


class Trainer:
    def __init__(self, rates):
        self.rates = rates
        self.season = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
        self.trend = nn.Linear(3, 1)
        self.optimizers = [
            torch.optim.SGD(getattr(self, name).parameters(), lr=getattr(rates, name)) for name in rates.names
        ]

    def step(self, phase, features, target):
        loss = (self.season(phase) + self.trend(features) - target).square().mean()
        for one in self.optimizers:
            one.zero_grad()
        loss.backward()
        clip_grad_value_(self.trend.parameters(), self.rates.bound)  # expect: GS893
        self.optimizers[0].step()
        clip_grad_value_(self.trend.parameters(), self.rates.bound)
        self.optimizers[1].step()
        return loss.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    trainer = Trainer(Rates())
    for step in range(50):
        day, features = torch.rand(32, 1) * 6.28, torch.randn(32, 3)
        target = torch.sin(day) + features @ torch.tensor([[0.3], [-0.2], [0.1]])
        loss = trainer.step(torch.cat([day.sin(), day.cos()], 1), features, target)
    print(f"loss {loss:.3f}")
