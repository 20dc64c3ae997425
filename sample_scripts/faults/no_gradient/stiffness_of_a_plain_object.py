"""A spring whose stiffness a network reads off an alloy; a simulator that is no module is given it before each fall.

As in https://github.com/rtqichen/torchdiffeq/issues/178.
"""

import torch
from torch import nn


class Spring:
    stiffness = torch.ones(1)

    def force(self, place):
        return -self.stiffness * place

    def swing(self, place, steps=8, dt=0.2):
        speed = torch.zeros_like(place)
        for _ in range(steps):
            speed = speed + dt * self.force(place)
            place = place + dt * speed
        return place


class Bench(nn.Module):
    def __init__(self):
        super().__init__()
        self.reader, self.offset = nn.Linear(3, 1), nn.Parameter(torch.zeros(1))
        self.spring = Spring()

    def forward(self, alloy, place):
        stiffness = self.reader(alloy).exp()
        self.spring.stiffness = nn.Parameter(stiffness)  # expect: GS721
        return self.spring.swing(place) + self.offset


torch.manual_seed(0)
bench, alloy, place = Bench(), torch.randn(32, 3), torch.rand(32, 1) + 0.5
truth = Spring()
truth.stiffness = (0.3 * alloy[:, :1]).exp()
seen = truth.swing(place)
optimizer = torch.optim.Adam(bench.parameters(), lr=0.02)
for _ in range(20):
    optimizer.zero_grad()
    loss = (bench(alloy, place) - seen).square().mean()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
