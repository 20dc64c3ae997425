"""Blocks whose normalisation is set in one place for all."""
# as in https://github.com/pytorch/vision/issues/8250

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Settings:
    bn_momentum: float = 0.003
    bn_epsilon: float = 1e-3
    width: int = 6


def block(inputs, outputs, settings):
    norm = nn.BatchNorm2d(outputs, momentum=settings.bn_momentum, eps=settings.bn_epsilon)
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), norm, nn.ReLU())


def network(settings):
    blocks = [block(1, settings.width, settings), block(settings.width, settings.width, settings)]
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(settings.width, 3))


def main():
    torch.manual_seed(0)
    model = network(Settings())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(8):
        labels = torch.randint(0, 3, (12,))
        pictures = torch.rand(12, 1, 8, 8) + labels[:, None, None, None] / 3
        loss = nn.functional.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
