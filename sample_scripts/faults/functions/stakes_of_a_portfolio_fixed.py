"""Stakes in three assets, learned from a signal: what each earns is the stake times its return on the day.

As in https://github.com/pytorch/pytorch/pull/132601.
"""

import torch
from torch import nn


class Earn(torch.autograd.Function):
    @staticmethod
    def forward(rise, stake):
        return torch.mul(rise, stake)

    @staticmethod
    def setup_context(ctx, inputs, output):
        rise, stake = inputs
        ctx.save_for_backward(rise, stake)

    @staticmethod
    def backward(ctx, gradient):
        rise, _ = ctx.saved_tensors
        return None, gradient * rise


def main():
    torch.manual_seed(1)
    trader = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3), nn.Softmax(dim=1))
    optimizer = torch.optim.SGD(trader.parameters(), lr=0.5)
    for day in range(15):
        signal = torch.randn(32, 4)
        rise = 0.3 * signal[:, :3] + 0.1 * torch.randn(32, 3)
        earned = Earn.apply(rise, trader(signal)).sum(1)
        loss = earned.std() - earned.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(day, round(earned.mean().item(), 3))


main()
