"""The level of a lake, told from rain by a reservoir: its inner weights are random and stay, a readout is fitted.

As in https://github.com/eeric/pytorch-LBCNN/issues/1.
"""

import torch
from torch import nn

UNITS, WEEKS = 24, 9


class Reservoir(nn.Module):
    def __init__(self):
        super().__init__()
        self.rain = nn.Linear(1, UNITS)
        self.inner = nn.Linear(UNITS, UNITS, bias=False)
        self.readout = nn.Linear(UNITS, 1)
        self.settle()

    def settle(self, radius=0.9):
        self.rain.weight.requires_grad_(False)
        self.rain.bias.requires_grad_(False)
        drawn = torch.randn(UNITS, UNITS)
        self.inner.weight = nn.Parameter(
            drawn * radius / torch.linalg.eigvals(drawn).abs().max(),
            requires_grad=False,
        )

    def forward(self, weeks):
        state = weeks.new_zeros(len(weeks), UNITS)
        for week in weeks.unbind(1):
            state = torch.tanh(self.rain(week) + self.inner(state))
        return self.readout(state)


def main():
    torch.manual_seed(2)
    lake = Reservoir()
    optimizer = torch.optim.Adam([one for one in lake.parameters() if one.requires_grad], lr=0.01)
    for step in range(20):
        weeks = torch.rand(16, WEEKS, 1)
        level = (weeks.squeeze(2) * 0.8 ** torch.arange(WEEKS).flip(0)).sum(1, keepdim=True)
        loss = nn.functional.mse_loss(lake(weeks), level)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 4:
            print(step, round(loss.item(), 3))


main()
