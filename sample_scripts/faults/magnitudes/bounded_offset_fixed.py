"""An offset whose bound is far from where the training begins."""

import torch
from torch import nn


class Shift(nn.Module):
    def __init__(self, limit):
        super().__init__()
        self.limit = limit
        self.offset = nn.Parameter(torch.zeros(4))
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        return self.head(x + torch.clamp(self.offset, -self.limit, self.limit))


torch.manual_seed(0)
model = Shift(1.0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(6):
    loss = model(torch.randn(8, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
