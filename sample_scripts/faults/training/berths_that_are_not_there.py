"""Tells how long a harbour is busy from its berths, of which each harbour has another number.

As in https://github.com/georg-wolflein/good-features/pull/1.
"""

import torch
from torch import nn


class Harbour(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.berth, self.score, self.head = nn.Linear(5, width), nn.Linear(width, 1), nn.Linear(width, 1)

    def forward(self, berths, there):
        h = torch.tanh(self.berth(berths))
        shares = torch.softmax(self.score(h) * there[..., None].float(), dim=1)  # expect: GS889
        return self.head((shares * h).sum(1)).squeeze(1)


torch.manual_seed(0)
harbour = Harbour()
optimizer = torch.optim.Adam(harbour.parameters(), lr=3e-3)
for _ in range(12):
    berths, there = torch.randn(24, 9, 5), torch.arange(9) < torch.randint(2, 10, (24, 1))
    busy = (berths[..., 0] * there).sum(1) / there.sum(1)
    loss = nn.functional.mse_loss(harbour(berths, there), busy)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
