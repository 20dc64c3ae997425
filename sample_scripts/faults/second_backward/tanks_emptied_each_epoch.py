"""Floods of storms, by tanks that leak: they are emptied before an epoch, and the next batch of storms finds water.

As in https://github.com/jeshraghian/snntorch/issues/250.
"""

import torch
from torch import nn

STORMS, HOURS = 48, 6


class Tank(nn.Module):
    def __init__(self):
        super().__init__()
        self.inlet, self.leak, self.water = nn.Linear(1, 1), nn.Parameter(torch.zeros(1)), None

    def empty(self):
        self.water = None

    def forward(self, flow):
        if self.water is None:
            self.water = torch.zeros_like(flow)
        self.water = self.water * self.leak.sigmoid() + self.inlet(flow)  # expect: GS712 shared_at
        return self.water.relu()


class Basin(nn.Module):
    def __init__(self):
        super().__init__()
        self.tanks = nn.ModuleList([Tank(), Tank()])

    def empty(self):
        for tank in self.tanks:
            tank.empty()

    def forward(self, storms):
        flood = 0
        for flow in storms.unbind(1):
            for tank in self.tanks:
                flow = tank(flow)
            flood = flood + flow
        return flood


def batches(storms, floods):
    order = torch.randperm(STORMS)
    for rows in order.split(16):
        yield storms[rows], floods[rows]


def learn(basin, optimizer, storms, floods):
    for storm, flood in batches(storms, floods):
        loss = (basin(storm) - flood).square().mean()
        optimizer.zero_grad()
        loss.backward()  # expect: GS712 second_backward_at
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
storms = torch.rand(STORMS, HOURS, 1)
floods = storms.cumsum(1).mean(1)
basin = Basin()
optimizer = torch.optim.Adam(basin.parameters(), lr=0.05)
for epoch in range(3):
    basin.empty()  # expect: GS712
    print(f"epoch {epoch}: {learn(basin, optimizer, storms, floods):.4f}")
