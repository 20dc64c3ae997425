"""A multilayer perceptron whose depth is a setting."""
# as in https://duoke360.com/post/34093

from itertools import pairwise

import torch
from torch import nn


class Perceptron(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = []  # expect: GS863
        for inputs, outputs in pairwise(sizes):
            self.layers.append(nn.Linear(inputs, outputs))

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.tanh(layer(x))
        return self.layers[-1](x)


def main():
    torch.manual_seed(0)
    model = Perceptron([4, 16, 16, 1])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)  # expect: GS863 fails_at
    x = torch.randn(64, 4)
    y = x.prod(1, keepdim=True)
    for epoch in range(10):
        loss = (model(x) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
