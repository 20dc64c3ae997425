"""A gate that is a comparison, so that the layer which decides learns nothing."""

import torch
from torch import nn


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 4)
        self.value = nn.Linear(4, 4)

    def forward(self, x):
        gate = torch.sigmoid(self.gate(x))
        return gate * self.value(x)


torch.manual_seed(0)
model = Gated()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = model(torch.randn(6, 4)).square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
