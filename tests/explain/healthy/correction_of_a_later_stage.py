"""A layer and its correction of low rank: the layer is trained first, the correction in a second stage."""

import torch
from torch import nn


class Corrected(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 4)
        self.narrow = nn.Parameter(torch.randn(8, 2))
        self.wide = nn.Parameter(torch.zeros(2, 4))

    def forward(self, x):
        return self.layer(x) + x @ self.narrow @ self.wide


def train(model, parameters, shift, steps=12):
    optimizer = torch.optim.Adam(parameters, lr=1e-2)
    for _ in range(steps):
        x = torch.randn(16, 8)
        loss = (model(x) - x[:, :4] - shift * x[:, 4:]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(0)
model = Corrected()
train(model, model.layer.parameters(), 0.0)
model.layer.requires_grad_(False)
train(model, (model.narrow, model.wide), 1.0)
print("done")
