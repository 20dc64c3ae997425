"""Letters told apart by a small network, which is given a wider last layer when letters of another alphabet come.

As in https://github.com/microsoft/nni/issues/4521.
"""

import torch
from torch import nn


def widened(old, more):
    new = nn.Linear(old.in_features, old.out_features + more)  # expect: GS727 made_at
    with torch.no_grad():
        new.weight[: old.out_features] = old.weight
        new.bias[: old.out_features] = old.bias
    return new


def admit(network, more):
    wider = widened(network[2], more)
    network[2] = wider  # expect: GS727


torch.manual_seed(0)
shapes = torch.randn(6, 10)
network = nn.Sequential(nn.Linear(10, 24), nn.Tanh(), nn.Linear(24, 4))
optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
for turn in range(40):
    if turn == 20:
        admit(network, 2)
    letters = torch.randint(network[2].out_features, (32,))
    loss = nn.functional.cross_entropy(network(shapes[letters] + 0.3 * torch.randn(32, 10)), letters)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # expect: GS727 fails_at
print(f"{turn + 1} turns: {loss.item():.3f}")
