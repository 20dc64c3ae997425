"""A table in bfloat16 of which each batch reads a few rows: those change, and a norm's weight rests near 1."""

import torch
from torch import nn

torch.manual_seed(0)
table, norm, head = nn.Embedding(400, 8), nn.LayerNorm(8), nn.Linear(8, 4)
model = nn.Sequential(table, norm, head).to(torch.bfloat16)
groups = [{"params": [*table.parameters(), *head.parameters()]}, {"params": norm.parameters(), "lr": 1e-3}]
optimizer = torch.optim.SGD(groups, lr=2)
for _ in range(40):
    words = torch.randint(0, 400, (32,))
    loss = nn.functional.cross_entropy(model(words).float(), words % 4)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
