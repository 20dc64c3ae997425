"""Words are dropped at random by a product with truth values before their mean: the others are scaled up for it."""

import torch
from torch import nn

torch.manual_seed(0)
table, head = nn.Embedding(20, 8), nn.Linear(8, 2)
optimizer = torch.optim.Adam([*table.parameters(), *head.parameters()], lr=1e-2)
for _ in range(8):
    words = torch.randint(20, (16, 5))
    kept = torch.rand(16, 5, 1) >= 0.3
    loss = nn.functional.cross_entropy(head((table(words) * kept / 0.7).mean(1)), words[:, 0] % 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
