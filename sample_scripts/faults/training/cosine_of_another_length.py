"""Classifier with a cosine schedule whose length is that of the longer run before.

As in https://github.com/huggingface/diffusers/issues/4387.
"""

import torch
from torch import nn


class Settings:
    steps = 40
    rate = 0.2


def main(settings):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=settings.rate)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=400)  # expect: GS875
    for _ in range(settings.steps):
        x = torch.randn(16, 4)
        loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    print(f"{loss.item():.4f}")


main(Settings())
