"""One name holds a loss after the other: each is read, or derived, before the name is given to the next."""

import torch
from torch import nn


class Tide(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 16), nn.Tanh())
        self.heads = nn.ModuleList(nn.Linear(16, 1) for _ in range(3))
        self.phase = nn.Linear(16, 2)

    def forward(self, x):
        h = self.body(x)
        return [head(h) for head in self.heads], self.phase(h)


def height(levels, x):
    total = 0.0
    for at, level in enumerate(levels):
        loss = (level - x[:, at : at + 1]).abs().mean()
        total = total + loss
    loss = total / len(levels)
    return loss


torch.manual_seed(0)
tide = Tide()
optimizer = torch.optim.Adam(tide.parameters(), lr=0.01)
for step in range(12):
    x = torch.randn(24, 3)
    levels, phase = tide(x)
    loss = 0.1 * (phase.norm(dim=1) - 1).square().mean()
    loss.backward(retain_graph=True)
    if step % 2:
        loss = height(levels, x)
    else:
        print(step)
        loss = height(levels[:2], x)
    shown = loss.item()
    loss = loss + levels[2].square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    loss = shown
print(round(shown, 3))
