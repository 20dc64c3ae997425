"""Is it a ring or a disc? The outlines come from two kernels that are not to learn; a small head counts them.

As in https://github.com/eeric/pytorch-LBCNN/issues/1.
"""

import torch
from torch import nn

ACROSS = torch.tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]])


def outlines():
    kernels = torch.stack([ACROSS, ACROSS.t()]).unsqueeze(1)
    layer = nn.Conv2d(1, 2, 3, padding=1, bias=False)
    layer.weight = nn.Parameter(kernels)
    layer.weight.requires_grad_(False)
    return layer


def shapes(count):
    line = torch.linspace(-1, 1, 15)
    far = (line[:, None] ** 2 + line[None] ** 2).sqrt()
    hollow = torch.randint(0, 2, (count,))
    radius = 0.5 + 0.3 * torch.rand(count, 1, 1)
    inner = (far > radius - 0.25) | (hollow == 0)[:, None, None]
    return ((far < radius) & inner).float().unsqueeze(1), hollow


def main():
    torch.manual_seed(0)
    head = nn.Sequential(nn.Conv2d(2, 6, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 2))
    model = nn.Sequential(outlines(), nn.Tanh(), head)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for step in range(20):
        pictures, hollow = shapes(24)
        loss = nn.functional.cross_entropy(model(pictures), hollow)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 4:
            print(step, round(loss.item(), 3))


main()
