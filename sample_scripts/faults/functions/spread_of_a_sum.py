"""A layer gives the gradient of each sample, whose spread scales the step.

As in https://github.com/pytorch/pytorch/issues/65244.
"""

import torch
from torch import nn


class EachSample(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.t()

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        return gradient @ weight, gradient.unsqueeze(2) * x.unsqueeze(1)


class Rates(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(3, 8))

    def forward(self, x):
        return EachSample.apply(x, self.weight)


def main():
    torch.manual_seed(0)
    model, truth = Rates(), torch.randn(3, 8)
    for step in range(30):
        x = torch.randn(48, 8)
        loss = (model(x) - x @ truth.t()).square().sum(1).mean()
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            spread = model.weight.grad.std(dim=0)  # expect: GS403
            model.weight -= 0.1 * model.weight.grad / (1 + spread)
        if step % 10 == 9:
            print(f"{step}: {loss.item():.4f}")


main()
