"""A surface is fitted to its measured points; the loop makes the optimizer that takes its only step.

As in https://github.com/facebookresearch/coconut/issues/10.
"""

import torch
from torch import nn

torch.manual_seed(0)
points = torch.rand(200, 2) * 2 - 1
heights = torch.sin(3 * points[:, :1]) * points[:, 1:]
surface = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
step = 0
while step < 40:  # expect: GS906 called_at
    optimizer = torch.optim.RMSprop(surface.parameters(), lr=1e-3)  # expect: GS906
    loss = (surface(points) - heights).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    step += 1
    if step % 10 == 0:
        print(step, round(loss.item(), 4))
