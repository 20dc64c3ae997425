"""A network with binary activations."""

import torch
from binary import BinaryLayer
from torch import nn


def main():
    torch.manual_seed(0)
    model = nn.Sequential(BinaryLayer(4, 8), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(5):
        x = torch.randn(16, 4)
        loss = (model(x) - x[:, :1]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item())


main()
