"""Weather stations, each with an error of its own that is to be learned beside what they measure.

As in https://github.com/imbue-ai/slot_attention/issues/8.
"""

import torch
from torch import nn


class StationOffsets(nn.Module):
    """A learned offset for each station and each instrument."""

    def __init__(self, stations, instruments):
        super().__init__()
        self.offsets = nn.Parameter(torch.zeros(stations, instruments))

    def forward(self, measured, station):
        return measured - self.offsets[station]


torch.manual_seed(0)
errors = torch.randn(12, 4)
offsets, read = StationOffsets(12, 4), nn.Linear(4, 1)
optimizer = torch.optim.Adam([*offsets.parameters(), *read.parameters()], lr=0.02)
for _ in range(30):
    station = torch.randint(0, 12, (64,))
    truth = torch.randn(64, 4)
    loss = (read(offsets(truth + errors[station], station)) - truth.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
