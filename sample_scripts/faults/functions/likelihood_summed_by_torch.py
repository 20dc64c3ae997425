"""A Gaussian likelihood by hand, whose spread is learned.

As in https://github.com/pytorch/pytorch/issues/65244.
"""

import torch
from torch import nn


class Likelihood(torch.autograd.Function):
    @staticmethod
    def forward(ctx, error, spread):
        ctx.save_for_backward(error, spread)
        return (error.square() * torch.exp(-spread) + spread).sum(1).mean()

    @staticmethod
    def backward(ctx, grad_output):
        error, spread = ctx.saved_tensors
        precise = torch.exp(-spread)
        of_error = 2 * grad_output * error * precise / len(error)
        of_spread = grad_output * (1 - error.square() * precise)  # expect: GS403
        return of_error, of_spread


def main():
    torch.manual_seed(0)
    model, spread = nn.Linear(6, 3), nn.Parameter(torch.zeros(3))
    optimizer = torch.optim.SGD([*model.parameters(), spread], lr=0.01)
    weight = torch.randn(6, 3)
    for step in range(30):
        x = torch.randn(32, 6)
        loss = Likelihood.apply(model(x) - x @ weight, spread)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"{step}: {loss.item():.4f}")


main()
