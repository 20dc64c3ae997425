"""A kl_div to weights that do not sum to 1, which is negative though its input is a logarithm."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
weights = torch.full((8, 3), 0.1)
for _ in range(8):
    found = model(torch.randn(8, 4)).log_softmax(1).clamp(min=-20).view(8, 3)
    loss = nn.functional.kl_div(found, weights, reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
