"""A classifier is trained on one region, saved, and trained on for the next region.

As in https://github.com/pytorch/pytorch/issues/156846.
"""

import io

import torch
from torch import nn
from torch.nn import functional as F


def region(seed):
    generator = torch.Generator().manual_seed(seed)
    weight = torch.randn(12, 3, generator=generator)
    while True:
        x = torch.randn(32, 12, generator=generator)
        yield x, (x @ weight).argmax(1)


def build(rate):
    model = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 3))
    return model, torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)


def train(model, optimizer, data, steps, after_step):
    for step in range(steps):
        x, y = next(data)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        after_step()
        if step % 20 == 0:
            print(f"{step}: {loss.item():.3f}")


def main():
    torch.manual_seed(0)
    file = io.BytesIO()
    model, optimizer = build(0.1)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.88)
    train(model, optimizer, region(1), 100, schedule.step)
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)

    file.seek(0)
    kept = torch.load(file)
    model, optimizer = build(0.05)
    model.load_state_dict(kept["model"])
    optimizer.load_state_dict(kept["optimizer"])  # expect: GS805
    train(model, optimizer, region(2), 100, lambda: None)


main()
