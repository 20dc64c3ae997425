"""Three small forecasts are mixed by weights that are to be learned.

As in https://github.com/pytorch/pytorch/issues/61410.
"""

import torch
from torch import nn


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.level, self.slope, self.wave = nn.Linear(1, 1), nn.Linear(1, 1), nn.Linear(2, 1)
        self.of_level = nn.Parameter(torch.tensor(0.3))
        self.of_slope = nn.Parameter(torch.tensor(0.3))
        self.of_wave = nn.Parameter(torch.tensor(0.4))

    def forward(self, t):
        waves = torch.cat([torch.sin(6 * t), torch.cos(6 * t)], 1)
        parts = torch.cat([self.level(torch.ones_like(t)), self.slope(t), self.wave(waves)], 1)
        weights = torch.stack([self.of_level, self.of_slope, self.of_wave])
        return parts @ weights


def main():
    torch.manual_seed(0)
    model = Mixture()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for step in range(30):
        t = torch.rand(32, 1)
        loss = (model(t) - (2 * t + torch.sin(6 * t)).squeeze(1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"{step}: {loss.item():.4f}")


main()
