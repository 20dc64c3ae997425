"""The best weights so far are kept by a copy of the model, whose attention remembers what it looked at."""

import copy

import torch
from torch import nn


class Pool(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.key = nn.Linear(width, width)
        self.query = nn.Parameter(torch.randn(width) / width**0.5)
        self.seen = None

    def forward(self, x):
        share = (torch.tanh(self.key(x)) @ self.query).softmax(1)
        self.seen = share.detach()
        return torch.einsum("bt,btd->bd", share, x)


torch.manual_seed(0)
model = nn.Sequential(Pool(8), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
best, lowest = None, float("inf")
for epoch in range(4):
    x, wanted = torch.randn(32, 6, 8), torch.randint(0, 2, (32,))
    loss = nn.functional.cross_entropy(model(x), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if loss.item() < lowest:
        best, lowest = copy.deepcopy(model), loss.item()
print(f"best {lowest:.3f}")
