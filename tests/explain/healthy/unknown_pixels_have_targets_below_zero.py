"""Pixels that nobody judged have the target -1: they are masked after a loss that is not reduced, or have no weight."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
network = nn.Conv2d(1, 1, 3, padding=1)
optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
for _ in range(6):
    picture = torch.rand(4, 1, 8, 8)
    target = (picture > 0.5).float()
    target[torch.rand_like(target) < 0.2] = -1
    score, known = network(picture), target >= 0
    loss = F.binary_cross_entropy_with_logits(score, target, reduction="none")[known].mean()
    loss = loss + F.binary_cross_entropy_with_logits(score, target, weight=known.float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
