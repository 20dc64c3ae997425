"""A rotation loss; the geometry is in geometry.py."""

import torch
from geometry import angle_between
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Rotator(nn.Module):
    def __init__(self):
        super().__init__()
        self.turn = nn.Linear(3, 3, bias=False)
        nn.init.eye_(self.turn.weight)

    def forward(self, x):
        return self.turn(x)


def train(epochs):
    torch.manual_seed(0)
    directions = torch.eye(3).repeat(4, 1)
    targets = directions.clone()
    targets[6:] = targets[6:].roll(1, 0)
    model = Rotator()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(epochs):
        for x, y in DataLoader(TensorDataset(directions, targets), batch_size=6):
            loss = angle_between(model(x), y).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(loss.item())


train(2)
