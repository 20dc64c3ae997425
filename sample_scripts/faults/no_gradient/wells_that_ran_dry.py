"""Levels of wells, of which dry ones give no measure: the penalty starts from a number and adds what was measured.

As in https://github.com/RangiLyu/nanodet/issues/7.
"""

import torch
from torch import nn

torch.manual_seed(0)
draws = torch.Generator().manual_seed(2)


class Levels(nn.Module):
    def __init__(self):
        super().__init__()
        self.rain = nn.Linear(6, 12)
        self.level = nn.Linear(12, 4)

    def forward(self, rain):
        return self.level(torch.tanh(self.rain(rain)))


def penalty(levels, measured, wet):
    total = torch.zeros(())  # expect: GS721
    for well in range(levels.shape[1]):
        rows = wet[:, well]
        if rows.any():
            total = total + (levels[rows, well] - measured[rows, well]).square().mean()
    return total / levels.shape[1]


model = Levels()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
history = []
for month in range(20):
    rain = torch.randn(10, 6, generator=draws)
    measured = rain[:, :4] * 0.5
    wet = torch.rand(10, 4, generator=draws) > (1.0 if month == 17 else 0.2)
    loss = penalty(model(rain), measured, wet)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(float(loss.detach()))
print(history[-1])
