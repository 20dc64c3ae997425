"""A network that learns a wave: the residual of its equation takes two derivatives."""

import torch
from equation import residual
from torch import nn


def main():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(3):
        t = torch.rand(32, 1, requires_grad=True)
        loss = residual(net, t).square().mean() + net(torch.zeros(1, 1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item())


main()
