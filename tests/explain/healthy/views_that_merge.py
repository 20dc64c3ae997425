"""Views that merge neighbours, split a dimension, or group what lies side by side: none of them needs another order."""

import torch
from torch import nn

torch.manual_seed(0)
conv, line = nn.Conv2d(3, 12, 3, padding=1), nn.Linear(24, 24)
optimizer = torch.optim.SGD([*conv.parameters(), *line.parameters()], lr=0.01)
for _ in range(4):
    features = conv(torch.randn(4, 3, 6, 8))
    shuffled = features.view(4, 3, 4, 6, 8).transpose(1, 2).reshape(4, 12, 6, 8)
    patches = features.view(4, 12, 3, 2, 4, 2).permute(0, 2, 4, 1, 3, 5).reshape(4, 12, 48)
    tokens = line(torch.randn(4, 6, 24))
    heads = tokens.view(4, 6, 3, 8).transpose(1, 2).reshape(12, 6, 8)
    merged = heads.view(4, 3, 6, 8).transpose(1, 2).reshape(4, 6, 24)
    pairs = merged.reshape(4, 3, 48).reshape(4, 144)  # two steps at a time
    loss = shuffled.flatten(1).square().mean() + patches.square().mean() + pairs.view(-1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
