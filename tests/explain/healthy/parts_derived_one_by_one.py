"""The parts of a loss are derived one by one; their sum is there for the log."""

import torch
from torch import nn

torch.manual_seed(0)
first, second = nn.Linear(4, 1), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.05)
for _ in range(10):
    x = torch.randn(16, 4)
    one = nn.functional.mse_loss(first(x), x[:, :1])
    other = nn.functional.mse_loss(second(x), x[:, 1:2])
    total = one + other
    optimizer.zero_grad()
    one.backward()
    other.backward()
    optimizer.step()
print(total.item() > 0)
