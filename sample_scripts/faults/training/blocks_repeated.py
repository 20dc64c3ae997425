"""A residual net of blocks of the program's own class, in a Sequential."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.inner = nn.LayerNorm(width), nn.Linear(width, width)

    def forward(self, x):
        return x + self.inner(self.norm(x)).relu()


def build(width, depth):
    blocks = nn.Sequential(*[Block(width)] * depth)  # expect: GS835
    return nn.Sequential(nn.Linear(4, width), blocks, nn.Linear(width, 2))


torch.manual_seed(0)
net = build(12, 4)
optimizer = torch.optim.SGD(net.parameters(), 0.05)
for _ in range(12):
    x = torch.randn(8, 4)
    loss = nn.functional.cross_entropy(net(x), (x.sum(1) > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
