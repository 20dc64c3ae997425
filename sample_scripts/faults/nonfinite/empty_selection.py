"""A loss over the selected rows only, in a batch where nothing is selected: the mean of nothing."""

import torch
from torch import nn


def masked_mean(values, mask):
    return values[mask].mean()  # expect: GS730


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(4):
    x = torch.randn(6, 4)
    mask = torch.full((6,), step != 2)
    loss = masked_mean((model(x).squeeze(1) - x.sum(1)) ** 2, mask)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
