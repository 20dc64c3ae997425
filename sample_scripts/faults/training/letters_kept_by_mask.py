"""Guesses letters from their strokes; guesses that are sure enough already are left out of the loss.

As in https://github.com/pytorch/tutorials/issues/383.
"""

import torch
from torch import nn


class Focus:
    """Adds up what is not left out, and counts it."""

    def __init__(self, above):
        self.above = above

    def __call__(self, scores, letters):
        chance = scores.softmax(-1)
        cost = -torch.take_along_dim(chance, letters.unsqueeze(1), 1).log()
        sure = chance.amax(dim=-1) > self.above
        return cost.masked_fill(sure, 0.0).sum() / (~sure).sum().clamp(min=1)  # expect: GS808


def strokes(letters):
    return nn.functional.one_hot(letters, 6).float() + 0.4 * torch.randn(len(letters), 6)


def train(net, loss, steps):
    optimizer = torch.optim.Adagrad(net.parameters(), lr=0.05)
    for _ in range(steps):
        letters = torch.randint(6, (30,))
        value = loss(net(strokes(letters)), letters)
        net.zero_grad()
        value.backward()
        optimizer.step()
        yield value.item()


torch.manual_seed(3)
print(f"{list(train(nn.Linear(6, 6), Focus(0.9), 30))[-1]:.3f}")
