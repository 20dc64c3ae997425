"""A gradient penalty with respect to points that the critic never sees: it gets a detached copy."""

import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(), nn.Linear(8, 1))


def score(points):
    points = points.detach() * 2 - 1  # expect: GS729
    return critic(points).sum()


real, fake = torch.rand(4, 2), torch.rand(4, 2)
mixed = torch.lerp(real, fake, torch.rand(4, 1)).requires_grad_()
(slope,) = torch.autograd.grad(score(mixed), mixed, create_graph=True)  # expect: GS729 fails_at
((slope.norm(2, dim=1) - 1) ** 2).mean().backward()
