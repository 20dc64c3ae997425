"""Fits rents by their rooms; the rate suits the mean over a batch, and the batch is summed part by part until NaN.

As in https://github.com/Lightning-AI/pytorch-lightning/issues/12811.
"""

import torch
from torch import nn


def train(network, rooms, rents, parts=8):
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
    for step in range(60):
        optimizer.zero_grad()
        for part in torch.randperm(len(rooms))[:128].chunk(parts):
            loss = nn.functional.mse_loss(network(rooms[part]), rents[part])
            (loss / parts).backward()
        optimizer.step()
        if step % 20 == 19:
            print(step + 1, loss.item())


torch.manual_seed(0)
rooms = torch.randn(512, 8)
rents = rooms @ torch.randn(8, 1)
train(nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)), rooms, rents)
