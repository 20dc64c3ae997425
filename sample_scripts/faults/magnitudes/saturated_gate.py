"""A gate that starts far out on the flat side of hardsigmoid."""

import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.level = nn.Parameter(torch.tensor(8.0))
        self.scale = nn.Linear(4, 1)

    def forward(self, x):
        return self.scale(x) * nn.functional.hardsigmoid(self.level)  # expect: GS735


torch.manual_seed(0)
model = Gate()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    loss = (model(torch.randn(8, 4)) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
