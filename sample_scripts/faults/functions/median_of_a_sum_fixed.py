"""The gradients of two filters are to be the medians of those of the samples.

As in https://github.com/pytorch/pytorch/issues/65244.
"""

import torch
from torch import nn

SAMPLES = []


class Correlate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, windows, taps):
        ctx.save_for_backward(windows)
        return torch.einsum("bkt,fk->bft", windows, taps)

    @staticmethod
    def backward(ctx, gradient):
        (windows,) = ctx.saved_tensors
        of_samples = torch.einsum("bft,bkt->bfk", gradient, windows)
        SAMPLES.append(of_samples)
        return None, of_samples.sum(0)


def typical():
    return 32 * SAMPLES.pop().median(dim=0).values


def main():
    torch.manual_seed(0)
    truth = torch.tensor([[0.2, 0.5, 0.3], [0.5, -0.5, 0.0]])
    taps = nn.Parameter(torch.zeros(2, 3))
    for step in range(30):
        windows = torch.randn(32, 12).unfold(1, 10, 1)
        wanted = torch.einsum("bkt,fk->bft", windows, truth)
        loss = (Correlate.apply(windows, taps) - wanted).square().mean()
        taps.grad = None
        loss.backward()
        with torch.no_grad():
            taps -= 0.5 * typical()
        if step % 10 == 9:
            print(f"{step}: {loss.item():.4f}")


main()
