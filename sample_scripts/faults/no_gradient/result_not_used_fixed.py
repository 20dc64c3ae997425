"""The normalised features are computed and then forgotten."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(6)
        self.linear = nn.Linear(6, 6)

    def forward(self, x):
        normed = self.norm(x)
        return x + self.linear(normed)


torch.manual_seed(0)
model = nn.Sequential(Block(), nn.Linear(6, 1))
optimizer = torch.optim.Adam(model.parameters())
for _ in range(3):
    loss = model(torch.randn(4, 6)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
