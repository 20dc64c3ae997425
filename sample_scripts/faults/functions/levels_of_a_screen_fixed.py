"""Brightness goes through a screen of 16 levels.

As in https://github.com/microsoft/nni/pull/3160.
"""

import torch
from torch import nn


class Screen(torch.autograd.Function):
    @staticmethod
    def forward(ctx, drive):
        ctx.save_for_backward(drive)
        return (drive * 15).round().clamp(0, 15) / 15

    @staticmethod
    def backward(ctx, gradient):
        (drive,) = ctx.saved_tensors
        return gradient.to(drive.dtype) * ((drive >= 0) & (drive <= 1))


def main(steps=40):
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    curve = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(curve.parameters(), lr=1e-2)
    for step in range(steps):
        scene = torch.rand(64, 1, generator=generator) * 2
        loss = nn.functional.mse_loss(Screen.apply(curve(scene)), scene / (1 + scene))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
