"""An equaliser that is told its gains by a network, which reads them off a recording of the room.

As in https://github.com/rtqichen/torchdiffeq/issues/178.
"""

import torch
from torch import nn


class Equaliser(nn.Module):
    def __init__(self):
        super().__init__()
        self.gains, self.slope = None, nn.Parameter(torch.zeros(1))

    def tune(self, gains):
        self.gains = nn.Parameter(gains)  # expect: GS721

    def forward(self, bands):
        return bands * self.gains + self.slope


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.reader, self.equaliser = nn.Linear(6, 4), Equaliser()

    def forward(self, room, bands):
        self.equaliser.tune(self.reader(room).sigmoid())
        return self.equaliser(bands)


torch.manual_seed(0)
listener, room, bands = Listener(), torch.randn(32, 6), torch.randn(32, 4)
wanted = bands * room[:, :4].sigmoid()
optimizer = torch.optim.Adam(listener.parameters(), lr=0.02)
for _ in range(20):
    optimizer.zero_grad()
    loss = (listener(room, bands) - wanted).square().mean()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
