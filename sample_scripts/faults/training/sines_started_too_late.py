"""A network of sines draws its weights once they are normalised: what is drawn is thrown away.

As in https://github.com/pytorch/pytorch/issues/25092.
"""

import math

import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

OMEGA = 12.0


class Sine(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        bound = math.sqrt(6 / inputs) / OMEGA
        self.linear = weight_norm(nn.Linear(inputs, outputs))
        nn.init.uniform_(self.linear.weight, -bound, bound)  # expect: GS828

    def forward(self, x):
        return torch.sin(OMEGA * self.linear(x))


if __name__ == "__main__":
    torch.manual_seed(0)
    net = nn.Sequential(Sine(2, 24), Sine(24, 24), nn.Linear(24, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(12):
        places = torch.rand(64, 2) * 2 - 1
        heights = torch.sin(3 * places[:, :1]) * places[:, 1:]
        loss = (net(places) - heights).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")
