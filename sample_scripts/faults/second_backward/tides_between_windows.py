"""Tides at a harbour, window by window: after a few that begin at rest, the basin's state goes on with its graph.

As in https://github.com/MorvanZhou/PyTorch-Tutorial/issues/57.
"""

import torch
from torch import nn

AT_REST, HOURS = 4, 10


class Basin(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.width, self.flow, self.gauge = width, nn.GRUCell(2, width), nn.Linear(width, 1)

    def rest(self):
        return torch.zeros(1, self.width)

    def forward(self, window, water):
        levels = []
        for hour in window.split(1):
            water = self.flow(hour, water)  # expect: GS712 shared_at
            levels.append(self.gauge(water))
        return torch.cat(levels), water


torch.manual_seed(0)
basin = Basin()
optimizer = torch.optim.Adam(basin.parameters(), lr=0.01)
clock = torch.arange(120.0)
pull = torch.stack((torch.sin(clock / 2), torch.sin(clock / 3)), 1)
height = (0.7 * pull[:, :1] + 0.2 * pull[:, 1:]).roll(1, 0)
water = basin.rest()
for turn, (window, truth) in enumerate(zip(pull.split(HOURS), height.split(HOURS), strict=True)):
    if turn < AT_REST:
        water = basin.rest()
    levels, left = basin(window, water)
    loss = (levels - truth).square().mean()
    optimizer.zero_grad()
    loss.backward()  # expect: GS712 second_backward_at
    optimizer.step()
    water = left  # expect: GS712
    print(f"window {turn}: {loss.item():.4f}")
