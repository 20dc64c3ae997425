"""Classifier whose new head is to learn faster: it has a rate of its own.

As in https://github.com/pytorch/pytorch/issues/2843.
"""

import torch
from torch import nn

FASTER = 10.0

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
head = {"params": model[2].parameters(), "lr": FASTER * 1e-3}
optimizer = torch.optim.Adam([{"params": model[0].parameters()}, head], lr=1e-3)
for _ in range(20):
    x = torch.randn(16, 4)
    loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
