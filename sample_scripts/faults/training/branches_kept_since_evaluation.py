"""Branches of a residual network are dropped by chance, until the network is evaluated for the first time.

As in https://github.com/NVIDIA/Megatron-LM/pull/411.
"""

import torch
from torch import nn


class DropBranch(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        if not self.training:
            self.rate = 0.0  # expect: GS897
        rate = self.rate
        if rate == 0.0:
            return x
        keep = torch.empty(len(x), 1).bernoulli_(1 - rate)
        return x * keep / (1 - rate)


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.begin = nn.Linear(6, 16)
        self.branches = nn.ModuleList(nn.Linear(16, 16) for _ in range(2))
        self.drop, self.end = DropBranch(0.3), nn.Linear(16, 1)

    def forward(self, x):
        h = torch.tanh(self.begin(x))
        for branch in self.branches:
            h = h + self.drop(torch.tanh(branch(h)))
        return self.end(h).squeeze(1)


@torch.no_grad()
def error(model, x, y):
    model.eval()
    return (model(x) - y).abs().mean().item()


def main():
    torch.manual_seed(0)
    x = torch.randn(240, 6)
    y = x[:, 0] * x[:, 1] + 0.3 * torch.randn(240)
    model = Tower()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    for epoch in range(4):
        model.train()
        for rows in torch.randperm(160).split(32):
            loss = nn.functional.mse_loss(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"{epoch}: {loss.item():.4f} {error(model, x[160:], y[160:]):.4f}")


main()
