"""Learns a second set of leaves, and is to answer for the first as the network of before did.

As in https://github.com/datawhalechina/easy-rl/pull/117.
"""

import torch
from torch import nn

torch.manual_seed(0)
network = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
for stage in range(2):
    before = network  # expect: GS896
    for step in range(9):
        leaves = torch.randn(32, 6) + 2 * stage
        kinds = leaves[:, :4].argmax(1)
        with torch.no_grad():
            answers = before(leaves)
        told = network(leaves)
        loss = nn.functional.cross_entropy(told, kinds) + 0.5 * stage * nn.functional.mse_loss(told, answers)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.3f}")
