"""A GRU needs what came last only: its gradient vanishes on the way back, and it learns."""

import torch
from torch import nn

torch.manual_seed(0)
cell, out = nn.GRU(2, 12, batch_first=True), nn.Linear(12, 1)
optimizer = torch.optim.Adam([*cell.parameters(), *out.parameters()], lr=2e-2)
for _ in range(80):
    x = torch.randn(32, 48, 2)
    given = out(cell(x)[0][:, -1]).squeeze(1)
    loss = (given - x[:, -1, 0]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
