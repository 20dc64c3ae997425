"""Tells how high a river stands from pictures of it: a neck was put between two parts, and not into the groups.

As in https://github.com/ohhhyeahhh/SiamCAR/issues/18.
"""

import torch
from torch import nn


class Gauge(nn.Module):
    def __init__(self):
        super().__init__()
        self.eye = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Flatten())
        self.neck = nn.Sequential(nn.LayerNorm(216), nn.Linear(216, 12), nn.GELU())
        self.level = nn.Linear(12, 1)

    def forward(self, pictures):
        return self.level(self.neck(self.eye(pictures))).squeeze(1)


class Training:
    def __init__(self, gauge, rate=1e-2):
        self.gauge = gauge
        slow = {"params": self.gauge.eye.parameters(), "lr": rate / 10}
        fast = {"params": [*self.gauge.neck.parameters(), *self.gauge.level.parameters()]}
        self.optimizer = torch.optim.AdamW([slow, fast], lr=rate)

    def step(self, pictures, levels):
        loss = nn.functional.mse_loss(self.gauge(pictures), levels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


torch.manual_seed(0)
training = Training(Gauge())
for _ in range(9):
    levels = torch.rand(12)
    pictures = (torch.linspace(0, 1, 8)[:, None] < levels[:, None, None, None]).float().expand(-1, -1, -1, 8)
    lost = training.step(pictures + 0.1 * torch.randn(12, 1, 8, 8), levels)
print(f"{lost:.3f}")
