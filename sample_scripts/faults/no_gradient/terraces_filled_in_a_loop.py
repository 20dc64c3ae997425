"""Soil moisture down a terraced slope: one small model for each terrace, which reads what runs off the one above.

As in https://github.com/asyml/texar-pytorch/issues/72.
"""

import torch
from torch import nn


class Slope(nn.Module):
    def __init__(self, terraces):
        super().__init__()
        self.rain = nn.Linear(2, 6)
        self.terraces = []  # expect: GS725
        self.build(terraces)
        self.gauge = nn.Linear(6, 1)

    def build(self, terraces):
        for _ in range(terraces):
            soil = nn.Linear(6, 6)
            nn.init.orthogonal_(soil.weight)
            self.terraces.append(nn.Sequential(soil, nn.Tanh()))  # expect: GS725 retained_at

    def forward(self, weather):
        water = self.rain(weather)
        for terrace in self.terraces:
            water = water + terrace(water)
        return self.gauge(water)


def main():
    torch.manual_seed(0)
    slope = Slope(3)
    optimizer = torch.optim.Adam(slope.parameters(), lr=0.01)
    for step in range(30):
        weather = torch.rand(32, 2)
        moisture = weather[:, :1] * (1 - 0.5 * weather[:, 1:]) ** 3
        loss = (slope(weather) - moisture).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"{step}: {loss.item():.4f}")


main()
