"""A judge learns from what is detached before each step; a part that the loss weighs in is read as a number as well."""

import torch
from torch import nn

torch.manual_seed(0)
shapes, reads, judge = nn.Linear(5, 5), nn.Linear(5, 1), nn.Linear(5, 1)
optimizer = torch.optim.Adam([*shapes.parameters(), *reads.parameters()], lr=0.01)
judging = torch.optim.Adam(judge.parameters(), lr=0.01)
for _ in range(20):
    x = torch.randn(32, 5)
    shaped = torch.tanh(shapes(x))
    judged = (judge(shaped.detach()) - x[:, :1]).square().mean()
    judging.zero_grad()
    judged.backward()
    judging.step()
    apart = judge(shaped).square().mean()
    level = apart.detach().item()
    loss = (reads(shaped) - x.sum(1, keepdim=True)).square().mean() + 0.1 * apart - 0.05 * level
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
