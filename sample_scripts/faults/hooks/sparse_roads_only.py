"""Traffic on a few roads: a hook is to add the slope of the sum of magnitudes to each gradient.

As in https://github.com/open-nudge/torchlayers/issues/18.
"""

import torch
from torch import nn


def prefer_few(weight):
    with torch.no_grad():
        weight.grad = 0.01 * torch.sign(weight)  # expect: GS909


torch.manual_seed(0)
roads = nn.Sequential(nn.Linear(12, 6), nn.Softplus(), nn.Linear(6, 1))
roads[0].weight.register_post_accumulate_grad_hook(prefer_few)  # expect: GS909 registered_at
optimizer = torch.optim.Adam(roads.parameters(), lr=0.01)
for _ in range(8):
    cars = torch.rand(20, 12)
    optimizer.zero_grad()
    nn.functional.mse_loss(roads(cars), cars[:, :1] * 2).backward()
    optimizer.step()
