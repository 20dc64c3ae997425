"""Layers of a flow, each of which takes its scale and shift from the first batch that comes to it, and then learns."""

import torch
from torch import nn


class SetByData(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.zeros(width))
        self.shift = nn.Parameter(torch.zeros(width))
        self.is_set = False

    def forward(self, x):
        if not self.is_set:
            self.scale.data = (-torch.log(x.std(0))).detach()
            self.shift.data = (-(x * torch.exp(self.scale)).mean(0)).detach()
            self.is_set = True
        return x * torch.exp(self.scale) + self.shift, self.scale.sum()


class Turn(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width // 2, 16), nn.Tanh(), nn.Linear(16, width // 2))

    def forward(self, x):
        first, second = x.chunk(2, 1)
        return torch.cat((second + self.net(first), first), 1), x.new_zeros(())


torch.manual_seed(0)
layers = nn.ModuleList(layer(4) for _ in range(3) for layer in (SetByData, Turn))
optimizer = torch.optim.Adam(layers.parameters(), lr=1e-3)
for _ in range(8):
    z, volume = torch.randn(64, 4) @ torch.tensor([[2.0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 3, 1], [0, 0, 0, 1]]), 0.0
    for layer in layers:
        z, change = layer(z)
        volume = volume + change
    loss = 0.5 * z.square().sum(1).mean() - volume
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
