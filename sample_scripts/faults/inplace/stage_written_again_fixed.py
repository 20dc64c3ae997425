"""Cools a plate through three stages, whose slopes lie in one buffer: a late correction hits a slope that was read.

The slots beside it may be written out of autograd's sight, as solvers with one buffer for all stages do.
As in https://github.com/pytorch/pytorch/issues/197054.
"""

import torch
from torch import nn

torch.manual_seed(0)
conduct = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 3))
weights = torch.tensor([0.2, 0.5, 0.3], requires_grad=True)
optimizer = torch.optim.Adam([*conduct.parameters(), weights], lr=1e-2)


def cool(heat, step):
    slopes = torch.zeros(8, 3, 3)
    for stage in range(3):
        slopes.data[..., stage] = conduct(heat).detach()
        heat = heat + (slopes[..., : stage + 1] * weights[: stage + 1]).sum(-1)
        if step > 4 and stage == 2:
            slopes = torch.stack((slopes[..., 0], 0.5 * slopes[..., 2], slopes[..., 2]), -1)
    return heat + conduct(heat)


for step in range(10):
    heat = torch.rand(8, 3)
    loss = (cool(heat, step) - heat.mean(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{step} loss {loss.item():.3f}")
