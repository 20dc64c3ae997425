"""Two halves of a judge of tides share a table, and a loop over both halves takes each gradient once.

As in https://github.com/kozistr/pytorch_optimizer/pull/528.
"""

import torch
from torch import nn


class Half(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table, self.weigh = table, nn.Linear(8, 1)

    def forward(self, levels):
        return self.weigh(torch.tanh(self.table(levels)))


torch.manual_seed(0)
table = nn.Linear(6, 8)
day, night = Half(table), Half(table)
teller = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 6))
learning = torch.optim.Adam(teller.parameters(), lr=0.01)
judging = torch.optim.SGD({*day.parameters(), *night.parameters()}, lr=0.05)
for tide in range(16):
    levels = torch.randn(24, 6)
    told = teller(levels)
    apart = (day(told) - day(levels)).mean() + (night(told.flip(1)) - night(levels.flip(1))).mean()
    loss = apart + 0.1 * told.square().mean()
    learning.zero_grad()
    judging.zero_grad()
    loss.backward()
    for parameter in {*day.parameters(), *night.parameters()}:
        parameter.grad.neg_()
    learning.step()
    judging.step()
print(f"apart {apart.item():.3f}")
