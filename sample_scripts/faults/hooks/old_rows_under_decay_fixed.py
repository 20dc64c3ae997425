"""Layer that grows for a second task: a hook keeps the gradient from its old rows, and there is no weight decay.

As in https://github.com/pytorch/pytorch/issues/38581.
"""

import torch
from torch import nn


class Keeps:
    def __init__(self, rows):
        self.rows = rows

    def __call__(self, gradient):
        gradient = gradient.clone()
        gradient[: self.rows] = 0.0
        return gradient


torch.manual_seed(0)
model = nn.Linear(4, 6)
for parameter in model.parameters():
    parameter.register_hook(Keeps(3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(20):
    x = torch.randn(16, 4)
    loss = (model(x)[:, 3:] - x[:, :3]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
