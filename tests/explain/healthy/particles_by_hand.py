"""Stein's variational gradient descent: particles that require no grad, whose .grad is set to a direction."""

import math

import torch
from torch.distributions import Categorical, MixtureSameFamily, Normal

torch.manual_seed(0)
wanted = MixtureSameFamily(
    Categorical(torch.tensor([1 / 3, 2 / 3])), Normal(torch.tensor([-2.0, 2.0]), torch.tensor([1.0, 1.0]))
)
points = torch.randn(40, 1) * 3 - 1
optimizer = torch.optim.Adagrad([points], lr=0.6)
densities = []
for _ in range(40):
    at = points.detach().requires_grad_(True)
    density = wanted.log_prob(at).sum()
    (score,) = torch.autograd.grad(density, at)
    densities.append(density.item())
    distance = torch.cdist(points, points) ** 2
    width = distance.median() / math.log(41)
    kernel = torch.exp(-distance / width)
    apart = 2 / width * (kernel.sum(1, keepdim=True) * points - kernel @ points)
    points.grad = -(kernel @ score + apart) / 40
    optimizer.step()
print(densities[0], "->", densities[-1])
