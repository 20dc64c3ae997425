"""A network of blocks, each a layer and its activation, to the last."""
# as in https://github.com/Lightning-AI/pytorch-lightning/issues/4862

from itertools import pairwise

import torch
from torch import nn

SIZES = (5, 16, 16, 3)

torch.manual_seed(0)
layers = []
for inputs, outputs in pairwise(SIZES):
    layers.append(nn.Linear(inputs, outputs))
    layers.append(nn.ReLU())  # expect: GS868
model = nn.Sequential(*layers)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(12):
    x = torch.randn(32, 5)
    loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
