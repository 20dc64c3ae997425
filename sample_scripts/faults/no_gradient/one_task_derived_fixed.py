"""Learns two tasks on one encoder, and adds up their losses."""
# as in https://duoke360.com/post/34567

import torch
from torch import nn

torch.manual_seed(0)
encoder, first, second = nn.Linear(5, 16), nn.Linear(16, 1), nn.Linear(16, 3)
optimizer = torch.optim.Adam([*encoder.parameters(), *first.parameters(), *second.parameters()], lr=1e-2)
for step in range(12):
    x = torch.randn(32, 5)
    h = torch.tanh(encoder(x))
    loss = nn.functional.mse_loss(first(h), x.sum(1, keepdim=True))
    total = loss + 0.5 * nn.functional.cross_entropy(second(h), x[:, :3].argmax(1))
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
print(f"loss {total.item():.3f}")
