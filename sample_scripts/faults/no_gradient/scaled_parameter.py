"""A parameter that is scaled when it is made: what the module keeps is no parameter."""

import torch
from torch import nn


class Prompt(nn.Module):
    def __init__(self, length, size):
        super().__init__()
        self.tokens = nn.Parameter(torch.randn(length, size)) * 0.02  # expect: GS725
        self.project = nn.Linear(size, size)

    def forward(self, x):
        return self.project(torch.cat([self.tokens, x]))


torch.manual_seed(0)
model = Prompt(2, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(3):
    loss = model(torch.randn(3, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
