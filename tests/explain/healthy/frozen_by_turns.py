"""A generator and a discriminator with batch norms: the one that does not learn is frozen for its turn."""

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
critic = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
makes = torch.optim.Adam(generator.parameters(), lr=1e-3)
judges = torch.optim.Adam(critic.parameters(), lr=1e-3)
right = nn.functional.binary_cross_entropy_with_logits
for _ in range(12):
    critic.requires_grad_(True)
    generator.requires_grad_(False)
    real, made = torch.randn(16, 2) + 1, generator(torch.randn(16, 3))
    loss = right(critic(real), torch.ones(16, 1)) + right(critic(made), torch.zeros(16, 1))
    judges.zero_grad()
    loss.backward()
    judges.step()
    critic.requires_grad_(False)
    generator.requires_grad_(True)
    loss = right(critic(generator(torch.randn(16, 3))), torch.ones(16, 1))
    makes.zero_grad()
    loss.backward()
    makes.step()
print("done")
