"""Angles between readings of a sensor, whose cosine is a product of raw numbers: it was to be divided by their norms.

As in https://github.com/pytorch/pytorch/issues/61810.
"""

import numpy as np
import torch
from torch import nn


def stored(readings):
    """As a sensor's memory keeps them."""
    return torch.from_numpy((readings.numpy() * 18 + 245).astype(np.uint16).astype(np.float32))


def angles(first, second):
    cosine = (first * second).sum(1)
    return torch.acos(cosine)  # expect: GS730


def main(steps=12):
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(2)
    net = nn.Linear(1, 1)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(steps):
        first, second = (torch.rand(16, 1, generator=generator) * 0.6 for _ in range(2))
        turned = angles(first, second) if step < 8 else angles(stored(first), stored(second))
        loss = nn.functional.mse_loss(net(turned[:, None]), first)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
