"""Prices whose features learn slowly: their optimizer steps once in six batches, with the sum of these, on purpose."""

import torch
from torch import nn

torch.manual_seed(0)
rooms = torch.randn(192, 6)
price = rooms @ torch.randn(6, 1) + 0.1 * torch.randn(192, 1)
features, head = nn.Linear(6, 12), nn.Linear(12, 1)
quick = torch.optim.SGD(head.parameters(), lr=0.05)
slow = torch.optim.SGD(features.parameters(), lr=0.01)
for batch in range(48):
    rows = slice(16 * (batch % 12), 16 * (batch % 12) + 16)
    loss = nn.functional.mse_loss(head(torch.tanh(features(rooms[rows]))), price[rows])
    loss.backward()
    quick.step()
    quick.zero_grad()
    if batch % 6 == 5:
        slow.step()
        slow.zero_grad()
print(f"loss {loss.item():.4f}")
