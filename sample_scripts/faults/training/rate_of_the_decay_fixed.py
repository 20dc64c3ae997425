"""Heights of trees from their girth: the weight decay is given as the learning rate.

As in https://github.com/offbit/evo-design/issues/3.
"""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Settings:
    lr: float = 1e-2
    weight_decay: float = 1e-3
    steps: int = 12


def build(model, settings):
    weights = [one for one in model.parameters() if one.ndim > 1]
    biases = [one for one in model.parameters() if one.ndim == 1]
    groups = [{"params": weights, "weight_decay": settings.weight_decay}, {"params": biases, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=settings.lr)


torch.manual_seed(0)
settings = Settings()
model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = build(model, settings)
for _ in range(settings.steps):
    girths = torch.rand(32, 3)
    loss = (model(girths).squeeze(1) - girths.sum(1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
