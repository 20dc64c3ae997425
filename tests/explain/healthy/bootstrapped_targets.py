"""BYOL: two views, a slow target without gradients, and a cosine whose norms torch clamps in place for itself."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
online = nn.Sequential(nn.Linear(12, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8))
predictor = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
target = copy.deepcopy(online).requires_grad_(False)
optimizer = torch.optim.AdamW([*online.parameters(), *predictor.parameters()], lr=2e-3)
for _ in range(40):
    x = torch.randn(32, 12)
    one, other = x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)
    with torch.no_grad():
        goals = target(other), target(one)
    guesses = predictor(online(one)), predictor(online(other))
    loss = sum(
        2 - 2 * F.cosine_similarity(guess, goal, dim=-1).mean() for guess, goal in zip(guesses, goals, strict=True)
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), online.parameters(), strict=True):
            slow.lerp_(fast, 0.05)
