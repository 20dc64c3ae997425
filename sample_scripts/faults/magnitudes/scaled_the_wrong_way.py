"""Layers whose outputs are multiplied by the root of the width, where it should have been divided by it."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class Scaled(nn.Module):
    def __init__(self, depth=28, width=24):
        super().__init__()
        self.scale = math.sqrt(width)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.read = nn.Linear(width, 1)

    def forward(self, x):
        for layer in self.layers:
            x = F.leaky_relu(layer(x) * self.scale, 0.1)  # expect: GS738
        return self.read(x)


def main():
    torch.manual_seed(0)
    model = Scaled()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    for step in range(6):
        x = torch.randn(32, 24)
        loss = F.huber_loss(model(x).squeeze(1), x.sum(1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print(step, loss.item())


if __name__ == "__main__":
    main()
