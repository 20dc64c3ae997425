"""Scores of a chess club: an object keeps the matrices small, and replaces their gradients.

As in https://github.com/open-nudge/torchlayers/issues/17.
"""

import torch
from torch import nn


class Small:
    def __init__(self, network, strength):
        self.strength = strength
        for parameter in network.parameters():
            parameter.register_post_accumulate_grad_hook(self.shrink)  # expect: GS909 registered_at

    def shrink(self, parameter):
        if parameter.ndim < 2:
            return
        slope = parameter.detach().mul(self.strength)  # of half the square
        parameter.grad = slope  # expect: GS909


torch.manual_seed(0)
club = nn.Sequential(nn.Embedding(30, 8), nn.Linear(8, 1))
Small(club, 1e-3)
optimizer = torch.optim.AdamW(club.parameters(), lr=0.01, weight_decay=0)
for _ in range(8):
    first, second = torch.randint(30, (2, 16))
    won = (first > second).float().unsqueeze(1)
    optimizer.zero_grad()
    nn.functional.binary_cross_entropy_with_logits(club(first) - club(second), won).backward()
    optimizer.step()
