"""A deep autoencoder of outlines; Adam takes each of its steps in full, whatever the gradient."""
# as in https://github.com/preddy5/Im2Vec/issues/10

import argparse
import math

import torch
from torch import nn


class Outlines(nn.Module):
    def __init__(self, points=24, width=48, depth=14):
        super().__init__()
        layers = [layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.GELU())]
        self.net = nn.Sequential(nn.Linear(2 * points, width), *layers, nn.Linear(width, 2 * points))

    def forward(self, x):
        return (self.net(x) - x).square().mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1.0)  # expect: GS737
    options = parser.parse_args()
    torch.manual_seed(0)
    model = Outlines()
    optimizer = torch.optim.Adam(model.parameters(), lr=options.lr)
    turn = torch.linspace(0, 2 * math.pi, 24)
    for _ in range(12):
        radius = 1 + 0.2 * torch.rand(32, 1) * torch.cos(3 * turn + torch.rand(32, 1))
        x = torch.cat([radius * turn.cos(), radius * turn.sin()], 1)
        optimizer.zero_grad()
        loss = model(x)
        loss.backward()
        optimizer.step()  # expect: GS737 called_at
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
