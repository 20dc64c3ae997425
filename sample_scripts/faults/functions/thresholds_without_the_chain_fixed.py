"""Spectra of few lines, found by unrolled shrinkage whose thresholds are learned by a Function of its own.

As in https://github.com/pytorch/pytorch/issues/4355.
"""

import torch
from torch import nn


class SoftThreshold(torch.autograd.Function):
    @staticmethod
    def forward(ctx, code, level):
        size = (code.abs() - level).clamp_min(0)
        ctx.save_for_backward(code, size)
        return code.sign() * size

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        code, size = ctx.saved_tensors
        active = (size > 0).to(code)
        for_level = -(grad_output * active * code.sign()).sum(0)
        return grad_output * active, for_level


class Unrolled(nn.Module):
    def __init__(self):
        super().__init__()
        self.analysis, self.synthesis = nn.Linear(20, 32), nn.Linear(32, 20)
        self.levels = nn.Parameter(torch.full((32,), 0.1))

    def forward(self, spectrum):
        return self.synthesis(SoftThreshold.apply(self.analysis(spectrum), self.levels))


def main():
    torch.manual_seed(0)
    model = Unrolled()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    lines = torch.randn(6, 20)
    for step in range(40):
        spectrum = torch.relu(torch.randn(64, 6)) @ lines
        loss = (model(spectrum + 0.1 * torch.randn(64, 20)) - spectrum).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"{step}: {loss.item():.4f}")


main()
