"""Train a network with a custom rounding layer from another file."""

import torch
from rounding import RoundingLayer
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), RoundingLayer(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in torch.utils.data.DataLoader(torch.randn(8, 3), batch_size=4):
    optimizer.zero_grad()
    model(batch).square().mean().backward()  # expect: GS761 fails_at
    optimizer.step()
print("trained")
