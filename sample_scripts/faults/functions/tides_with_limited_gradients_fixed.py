"""Tides are forecast by a recurrent network, whose gradient is to be limited between the hours.

As in https://github.com/wangzhuo2019/SSAN/issues/18.
"""

import torch
from torch import nn


class Limit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, state, most):
        ctx.most = most
        return state.clone()

    @staticmethod
    def backward(ctx, gradient_of_state):
        limited = gradient_of_state.clamp(-ctx.most, ctx.most)
        return limited, None


class Limited(nn.Module):
    def __init__(self, most):
        super().__init__()
        self.most = most

    def forward(self, state):
        return Limit.apply(state, self.most)


class Tides(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.level = nn.GRUCell(2, 8), nn.Linear(8, 1)
        self.limited = Limited(0.1)

    def forward(self, hours):
        state = torch.zeros(hours.shape[1], 8)
        for hour in hours:
            state = self.limited(self.cell(hour, state))
        return self.level(state)


torch.manual_seed(0)
tides = Tides()
optimizer = torch.optim.Adam(tides.parameters(), lr=0.01)
for _ in range(6):
    hours = torch.randn(5, 12, 2)
    loss = (tides(hours) - hours.sum((0, 2)).unsqueeze(1)).square().mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=False)
    optimizer.step()
