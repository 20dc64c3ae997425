"""A rod's temperature is fitted, and its far end by a head of its own, whose loss the next one replaces.

As in https://github.com/tom-roddick/oft/issues/6.
"""

import torch
from torch import nn


class Rod(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, width), nn.Tanh())
        self.inside = nn.Linear(width, 1)
        self.end = nn.Linear(width, 1)

    def forward(self, place):
        h = self.body(place)
        return self.inside(h), self.end(h)


def misses(end, inside, place):
    loss = 0.5 * (end - 1).square().mean()  # expect: GS726 unused_at
    with torch.autograd.set_detect_anomaly(False):
        loss = (inside - torch.sin(3 * place)).square().mean()  # expect: GS726
    return loss


torch.manual_seed(0)
rod = Rod()
optimizer = torch.optim.Adam(rod.parameters(), lr=0.01)
for step in range(20):
    place = torch.rand(32, 1)
    inside, end = rod(place)
    loss = misses(end, inside, place)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
