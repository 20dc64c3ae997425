"""Links of a graph: one table for both ends is meant, and a second parameter is made of the first.

As in https://github.com/pytorch/pytorch/issues/62264.
"""

import torch
from torch import nn


class Links(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.first, self.second = nn.Embedding(count, 6), nn.Embedding(count, 6)
        self.second.weight = nn.Parameter(self.first.weight)  # expect: GS878
        self.turn = nn.Linear(6, 6)

    def forward(self, ends):
        return self.turn(self.first(ends)) @ self.second.weight.t()


torch.manual_seed(0)
model = Links(12).double()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(10):
    ends = torch.randint(12, (8,))
    loss = nn.functional.cross_entropy(model(ends), (ends + 1) % 12)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
