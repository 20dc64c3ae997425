"""Tides: the filters are frozen by a flag after the first port, and gradients are only filled with zeros.

As in https://github.com/facebookresearch/dino/issues/139.
"""

import torch
from torch import nn


class Tide(nn.Module):
    def __init__(self):
        super().__init__()
        self.filters = nn.Conv1d(1, 6, 5, padding=2)
        self.level = nn.Linear(6, 1)

    def forward(self, x):
        return self.level(torch.tanh(self.filters(x)).mean(-1))


def switch(module, on):
    for weight in module.parameters():
        weight.requires_grad = on  # expect: GS708


def sail(model, optimizer, port):
    for _ in range(24):
        x = torch.randn(32, 1, 20) + port
        optimizer.zero_grad(set_to_none=False)
        loss = nn.functional.mse_loss(model(x), x[:, :, ::2].mean(-1))
        loss.backward()
        optimizer.step()
    print(f"{port}: {loss.item():.4f}")


torch.manual_seed(0)
model = Tide()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)
sail(model, optimizer, port=0.0)
switch(model.filters, on=False)
sail(model, optimizer, port=0.5)
