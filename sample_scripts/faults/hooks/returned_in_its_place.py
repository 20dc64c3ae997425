"""Loads on a bridge: a hook of register_hook is to add the slope of a penalty, and returns it alone.

As in https://github.com/open-nudge/torchlayers/issues/17.
"""

import torch
from torch import nn

torch.manual_seed(0)
bridge = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(bridge.parameters(), lr=0.05, momentum=0.9)
beams = bridge[2].weight


def towards_zero(gradient):
    return 0.02 * beams.detach()  # expect: GS909


beams.register_hook(towards_zero)  # expect: GS909 registered_at
for _ in range(8):
    load = torch.randn(10, 4)
    loss = (bridge(load) - load[:, 1:3]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
