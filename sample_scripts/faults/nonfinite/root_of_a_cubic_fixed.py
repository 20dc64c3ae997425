"""Root finding in a layer: the discriminant may be negative."""

import torch
from torch import nn


class Quadratic(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = 3.0
        self.c = nn.Parameter(torch.tensor(2.0))

    def forward(self):
        discriminant = self.b**2 - 4 * self.c
        discriminant = discriminant.clamp(min=1e-6)
        return (-self.b + torch.sqrt(discriminant)) / 2


model = Quadratic()
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
for step in range(8):
    optimizer.zero_grad()
    loss = (model() + 1.5) ** 2 - 0.2 * model.c
    loss.backward()
    optimizer.step()
    print(step, loss.item())
