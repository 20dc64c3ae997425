"""Attention over time, where each batch is one sequence."""

import torch
from pooling import AttentionPool
from torch import nn


def main():
    torch.manual_seed(0)
    model = nn.Sequential(AttentionPool(6), nn.Linear(6, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        loss = (model(torch.randn(1, 10, 6)) - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item())


main()
