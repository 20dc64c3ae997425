"""A learned temperature that starts outside the range it is clamped to, and cannot get back in."""

import torch
from torch import nn

torch.manual_seed(0)
layer = nn.Linear(4, 3)
temperature = nn.Parameter(torch.tensor(20.0))
optimizer = torch.optim.Adam([*layer.parameters(), temperature], lr=0.01)
for step in range(5):
    x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
    logits = layer(x) * temperature.clamp(0.1, 10.0)  # expect: GS735
    loss = nn.functional.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
