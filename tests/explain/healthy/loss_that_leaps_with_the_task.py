"""Scales by exp(): one that does not grow, one of noise; the loss leaps because the task does."""

import torch
from torch import nn

torch.manual_seed(0)
body = nn.Linear(3, 1)
log_gain = nn.Parameter(torch.zeros(1))
log_noise = nn.Parameter(torch.ones(1))
rates = [{"params": [*body.parameters(), log_gain]}, {"params": [log_noise], "lr": 0.08}]
optimizer = torch.optim.Adam(rates, lr=2e-2)
for step in range(60):
    x = torch.randn(64, 3)
    target = x.sum(1) * (1 if step < 40 else 30)
    given = body(x).squeeze(1) * log_gain.exp()
    given = given + 0.001 * torch.randn(64) * log_noise.exp()
    loss = (given - target).square().mean() - 0.5 * log_noise.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.2f}")
