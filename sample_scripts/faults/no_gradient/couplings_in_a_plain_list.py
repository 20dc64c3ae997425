"""Flow whose couplings are kept in a plain list, between two layers that are registered.

As in https://github.com/pytorch/pytorch/issues/666.
"""

import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.by = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        return x * self.by.exp(), self.by.sum()


class Coupling(nn.Module):
    def __init__(self, half):
        super().__init__()
        self.half, self.net = half, nn.Sequential(nn.Linear(1, 6), nn.Tanh(), nn.Linear(6, 2))

    def forward(self, x):
        kept, moved = x[:, self.half :][:, :1], x[:, 1 - self.half :][:, :1]
        by, shift = self.net(kept).chunk(2, 1)
        moved = moved * by.exp() + shift
        parts = [kept, moved] if self.half == 0 else [moved, kept]
        return torch.cat(parts, 1), by.sum(1).mean()


class Flow(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.entry, self.exit = Scale(), Scale()
        self.couplings = [Coupling(at % 2) for at in range(depth)]  # expect: GS817

    def nll(self, x):
        x, total = self.entry(x)
        for coupling in self.couplings:
            x, by = coupling(x)
            total = total + by
        x, by = self.exit(x)
        return 0.5 * x.square().sum(1).mean() - total - by


torch.manual_seed(0)
flow = Flow(4)
optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
for _ in range(12):
    loss = flow.nll(torch.randn(16, 2) * 0.5 + 1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
