"""Weld photographs are sorted above a frozen trunk at rest; scoring ends with eval() of the trunk.

As in https://github.com/pgniewko/gt-pyg/issues/112.
"""

import torch
from torch import nn


def trunk():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4), nn.Flatten()
    )


class Sorter(nn.Module):
    def __init__(self, trunk, kinds):
        super().__init__()
        self.trunk, self.head = trunk, nn.Sequential(nn.Dropout(0.2), nn.Linear(64, kinds))
        for one in [*trunk.parameters()]:
            one.requires_grad = False
        self.trunk.eval()

    def forward(self, photographs):
        return self.head(self.trunk(photographs))


def score(sorter, photographs, kinds):
    sorter.eval()
    with torch.no_grad():
        hits = (sorter(photographs).argmax(1) == kinds).float().mean()
    sorter.train()
    sorter.trunk.eval()
    return hits.item()


torch.manual_seed(0)
sorter = Sorter(trunk(), 3)
optimizer = torch.optim.Adam(sorter.head.parameters(), lr=0.01)
for step in range(24):
    photographs, kinds = torch.randn(12, 1, 8, 8), torch.randint(3, (12,))
    loss = nn.functional.cross_entropy(sorter(photographs), kinds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 6 == 5:
        print(f"{step}: {loss.item():.3f} {score(sorter, photographs, kinds):.2f}")
