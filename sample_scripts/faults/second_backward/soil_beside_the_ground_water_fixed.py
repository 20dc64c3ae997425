"""The runoff of a river basin is learned week by week; both parts of its water are detached between them.

As in https://github.com/norse/norse/issues/130.
"""

from dataclasses import dataclass, replace

import torch
from torch import nn

WEEK = 7


@dataclass
class Water:
    soil: torch.Tensor
    ground: torch.Tensor


class Basin(nn.Module):
    def __init__(self):
        super().__init__()
        self.sinking, self.seeping = nn.Parameter(torch.tensor(0.1)), nn.Parameter(torch.tensor(-1.0))

    def day(self, water, rain):
        sunk = torch.sigmoid(self.sinking) * water.soil
        soil = water.soil + rain - sunk
        seeped = torch.sigmoid(self.seeping) * water.ground
        ground = water.ground + sunk - seeped
        return Water(soil, ground), seeped

    def forward(self, rains, water):
        runoff = []
        for rain in rains:
            water, seeped = self.day(water, rain)
            runoff.append(seeped)
        return torch.stack(runoff), water


def next_week(water):
    return replace(water, soil=water.soil.detach(), ground=water.ground.detach())


def train(basin, rains, runoff):
    optimizer = torch.optim.Adam(basin.parameters(), lr=1e-2)
    water = Water(torch.ones(3), torch.ones(3))
    for rain, seen in zip(rains.split(WEEK), runoff.split(WEEK), strict=True):
        told, water = basin(rain, water)
        loss = (told - seen).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        water = next_week(water)


torch.manual_seed(0)
train(Basin(), torch.rand(10 * WEEK, 3), torch.rand(10 * WEEK, 3))
