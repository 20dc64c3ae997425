"""Rows that begin at zero are normalised: their first step throws them far out, and nobody asks for their length."""

import torch
from torch import nn

torch.manual_seed(0)
table = nn.Parameter(torch.cat([torch.randn(12, 4), torch.zeros(4, 4)]))
out = nn.Linear(4, 3)
optimizer = torch.optim.SGD([table, *out.parameters()], lr=0.5)
for step in range(60):
    rows = torch.randint(12 if step < 20 else 16, (16,))
    loss = nn.functional.cross_entropy(out(nn.functional.normalize(table[rows], dim=1)), rows % 3)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
