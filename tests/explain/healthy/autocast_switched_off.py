"""CNN trained twice inside one outer autocast context, once with it disabled and once with its cache disabled."""

import torch
import torch.nn.functional as F
from torch import nn


def build():
    return nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(8 * 25, 3))


def stripes(n):
    y = torch.randint(0, 3, (n,))
    x = 0.5 * torch.randn(n, 1, 10, 10)
    x[y == 1] += torch.tensor([1.0, -1.0]).repeat(5)
    x[y == 2] += torch.tensor([1.0, -1.0]).repeat(5)[:, None]
    return x, y


def train(steps, **options):
    torch.manual_seed(0)
    model = build()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    with torch.autocast("cpu", torch.bfloat16, **options):
        for step in range(1, steps + 1):
            x, y = stripes(32)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 10 == 0:
                print(f"{options} step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    train(30, enabled=False)
    train(30, cache_enabled=False)
