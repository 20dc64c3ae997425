"""A running mean over the last hundred outputs, to shift the next ones."""

from collections import deque

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 3)
optimizer = torch.optim.Adam(model.parameters(), 0.01)
recent = deque(maxlen=100)
for _ in range(150):
    output = model(torch.randn(6, 4))
    recent.append(output)  # expect: GS742
    with torch.no_grad():
        centre = torch.stack([one.mean(0) for one in recent]).mean(0)
    loss = (output - centre - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
