"""Tells pulses apart: the network brings them to scale first, in the memory of the recordings.

As in https://github.com/autowarefoundation/auto_e2e/pull/202.
"""

import torch
from torch import nn


class Pulses(nn.Module):
    def __init__(self, mean, spread):
        super().__init__()
        self.mean, self.spread = mean, spread
        self.net = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, x):
        x -= self.mean  # expect: GS888
        x /= self.spread
        return self.net(x)


torch.manual_seed(0)
recordings = [5 + 2 * torch.randn(8, 12) for _ in range(7)]
kinds = [torch.randint(2, (8,)) for _ in recordings]
network = Pulses(torch.cat(recordings).mean(), torch.cat(recordings).std())
optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
for epoch in range(4):
    for signal, kind in zip(recordings, kinds, strict=True):
        loss = nn.functional.cross_entropy(network(signal), kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.3f}")
