"""A policy that is cloned from a hand: a normal distribution of its next move, whose width comes from the same net.

The width is read from beside the mean. As in https://github.com/PufferAI/PufferLib/pull/505.
"""

import torch
from torch import nn

MOVES = 3


def distribution(net, seen):
    out = net(seen)
    return torch.distributions.Normal(
        out[..., :MOVES],
        nn.functional.softplus(out[..., MOVES:]) + 0.05,
    )


torch.manual_seed(0)
hand = torch.randn(5, MOVES)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2 * MOVES))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(8):
    seen = torch.randn(32, 5)
    moved = seen @ hand + 0.2 * torch.randn(32, MOVES)
    loss = -distribution(net, seen).log_prob(moved).sum(dim=-1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
