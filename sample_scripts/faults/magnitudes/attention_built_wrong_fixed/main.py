"""A sequence classifier whose pooling weights are a softmax over time."""

import torch
from blocks import Pool
from torch import nn


def main():
    torch.manual_seed(0)
    model = nn.Sequential(Pool(6), nn.Linear(6, 3))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(4):
        loss = criterion(model(torch.randn(5, 10, 6)), torch.randint(0, 3, (5,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item())


main()
