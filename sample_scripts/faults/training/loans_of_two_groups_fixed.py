"""Loans to two groups: what both get may differ by little, which a multiplier sees to after the first steps.

As in https://github.com/mani-skill/ManiSkill/issues/899.
"""

import torch
from torch import nn

torch.manual_seed(3)
grants = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
raw = torch.zeros(1, requires_grad=True)
optimizer = torch.optim.Adam([{"params": grants.parameters()}, {"params": [raw], "lr": 0.05}], lr=1e-2)
for step in range(30):
    people = torch.randn(64, 5)
    group = people[:, 0] > 0
    repaid = (people.sum(dim=1) + 0.5 * torch.randn(64) > 0).float()
    scores = grants(people)[:, 0]
    loss = nn.functional.binary_cross_entropy_with_logits(scores, repaid)
    if step >= 12:
        apart = (scores[group].sigmoid().mean() - scores[~group].sigmoid().mean()).abs()
        multiplier = nn.functional.softplus(raw)
        loss = loss + (multiplier.detach() * apart).sum()
        loss = loss - (multiplier * (apart.detach() - 0.1)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
