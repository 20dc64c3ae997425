"""Tells trees by their bark: a trunk that has learned kinds rests under a new head, until its rounds wake all of it.

As in https://github.com/kdexd/virtex/issues/16.
"""

import torch
from torch import nn


def learn(net, optimizer, awake, kinds, rounds=10):
    for _ in range(rounds):
        awake.train()
        loss = nn.functional.cross_entropy(net(torch.randn(24, 1, 10)), torch.randint(kinds, (24,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def certainty(net):
    net.eval()
    with torch.no_grad():
        return net(torch.randn(50, 1, 10)).softmax(1).amax(1).mean().item()


torch.manual_seed(0)
trunk = nn.Sequential(nn.Conv1d(1, 6, 3), nn.BatchNorm1d(6), nn.ReLU(), nn.Flatten(), nn.BatchNorm1d(48))
net = nn.Sequential(trunk, nn.Linear(48, 5))
learn(net, torch.optim.Adam(net.parameters(), lr=0.01), net, 5)
print(f"{certainty(net):.3f}")

trunk.requires_grad_(False)
trunk.eval()
net[1] = nn.Linear(48, 3)
optimizer = torch.optim.Adam(net[1].parameters(), lr=0.02)
print(f"{learn(net, optimizer, net[1], 3):.3f}")
print(f"{certainty(net):.3f}")
