"""A noisy picture is smoothed by steps, and shall stay near to what it was, which goes with it.

As in https://github.com/cornellius-gp/gpytorch/issues/2302.
"""

import torch
from torch import nn


def roughness(picture):
    return picture.diff(dim=0).abs().mean() + picture.diff(dim=1).abs().mean()


def smoothed(noisy, steps=15):
    picture = nn.Parameter(noisy)  # expect: GS829
    optimizer = torch.optim.SGD([picture], lr=20.0)
    for _ in range(steps):
        loss = roughness(picture) + 2.0 * (picture - noisy).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return picture.detach(), loss.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    edge = (torch.arange(24) > 11).float().expand(24, 24)
    _, loss = smoothed(edge + 0.2 * torch.randn(24, 24))
    print(f"loss {loss:.3f}")
