"""Map of points by their affinities: kl_div is given their logarithms.

As in https://github.com/pytorch/pytorch/issues/5282.
"""

import torch
from torch import nn


def affinity(z):
    kernel = 1 / (1 + torch.cdist(z, z).square())
    kernel = kernel * (1 - torch.eye(len(z)))
    return kernel / kernel.sum()


torch.manual_seed(0)
points = torch.randn(20, 6)
encoder = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 2))
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
wanted, divergence = affinity(points), nn.KLDivLoss(reduction="sum")
for _ in range(12):
    near = affinity(encoder(points)).clamp(min=1e-9).log()
    loss = divergence(near, wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
