"""Soundings of a lake: layers in a list that is built first and kept by the network after that.

As in https://github.com/pytorch/pytorch/issues/666.
"""

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Linear(width, width)

    def forward(self, x):
        return x + torch.tanh(self.mix(x))


class Lake(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.enter, self.leave = nn.Linear(3, width), nn.Linear(width, 1)
        layers = []
        for _ in range(depth):
            layers.append(Layer(width))
        self.layers = layers  # expect: GS725

    def forward(self, x):
        x = self.enter(x)
        for layer in self.layers:
            x = layer(x)
        return self.leave(x)


def main():
    torch.manual_seed(0)
    lake = Lake(16, 3)
    optimizer = torch.optim.Adam(lake.parameters(), lr=0.01)
    for step in range(30):
        place = torch.rand(64, 3)
        loss = (lake(place) - torch.sin(4 * place).sum(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"{step}: {loss.item():.4f}")


main()
