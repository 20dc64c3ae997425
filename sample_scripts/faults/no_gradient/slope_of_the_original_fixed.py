"""A search differentiates a copy of its point, and returns the gradient of the point. As in https://github.com/meta-pytorch/botorch/issues/1164."""

import torch
from torch import nn


class Search:
    def __init__(self, model, rate=0.5):
        self.model, self.rate = model, rate

    def slope(self, point):
        copy = point.detach().clone().requires_grad_(True)
        self.model(copy).sum().backward()
        return copy.grad

    def improve(self, point, rounds):
        for _ in range(rounds):
            point = point + self.rate * self.slope(point)
        return point


if __name__ == "__main__":
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(70):
        x = torch.randn(32, 3)
        loss = (model(x).squeeze(1) + x.square().sum(1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(Search(model).improve(torch.randn(4, 3), 10).norm())
