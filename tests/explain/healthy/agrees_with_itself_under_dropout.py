"""A model is to agree with itself: dropout differs, an average of its weights is the teacher, or the input is moved."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
network = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
plain = nn.Linear(6, 3)
average = copy.deepcopy(plain)
optimizer = torch.optim.Adam([*network.parameters(), *plain.parameters()], lr=1e-2)
for _ in range(6):
    x = torch.randn(32, 6)
    with torch.no_grad():
        other, slow, moved = network(x), average(x), plain(x + 0.1 * torch.randn_like(x))
    told, given = network(x), plain(x)
    loss = F.cross_entropy(told, x[:, :3].argmax(1)) + F.mse_loss(told, other)
    loss = loss + F.mse_loss(given, slow) + F.mse_loss(given, moved) + F.cross_entropy(given, x[:, :3].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for mean, weight in zip(average.parameters(), plain.parameters(), strict=True):
            mean.lerp_(weight, 0.1)
