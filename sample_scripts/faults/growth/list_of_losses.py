"""Losses are kept in a list for a plot."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.Adam(model.parameters())


def train(steps):
    history = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(torch.randn(5, 3)) - 1).abs().mean()
        loss.backward()
        optimizer.step()
        history.append(loss)  # expect: GS742
    return history


print(len(train(12)))
