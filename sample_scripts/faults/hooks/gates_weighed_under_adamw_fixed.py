"""Gated regression in which the gate has a larger rate, under AdamW.

As in https://github.com/pytorch/pytorch/issues/2843.
"""

import torch
from torch import nn


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Parameter(torch.zeros(5))
        self.body = nn.Linear(5, 1)

    def forward(self, x):
        return self.body(torch.sigmoid(self.gate) * x)


torch.manual_seed(0)
model = Gated()
groups = [{"params": [model.gate], "lr": 5e-2}, {"params": model.body.parameters()}]
optimizer = torch.optim.AdamW(groups, lr=2e-3)
for _ in range(25):
    x = torch.randn(12, 5)
    loss = (model(x)[:, 0] - x[:, 0]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
