"""The calls of birds are told apart in parts of a batch, each under a decorator that clears.

As in https://github.com/pytorch/torchtitan/pull/3575.
"""

from functools import update_wrapper

import torch
from torch import nn


class Afresh:
    """Makes a function start without gradients of a model."""

    def __init__(self, model):
        self.model = model

    def __call__(self, function):
        def cleared(*given):
            self.model.zero_grad()  # expect: GS802 cleared_at
            return function(*given)

        return update_wrapper(cleared, function)


torch.manual_seed(0)
model = nn.Sequential(nn.Conv1d(1, 8, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def call_of(kinds):
    time = torch.linspace(0, 12, 48)
    return torch.sin(time * (kinds[:, None] + 1)).unsqueeze(1) + 0.1 * torch.randn(len(kinds), 1, 48)


def miss(calls, kinds, share):
    loss = nn.functional.cross_entropy(model(calls), kinds) * share
    loss.backward()  # expect: GS802 cause_at
    return loss.detach()


@Afresh(model)  # expect: GS802
def part(kinds, whole):
    return miss(call_of(kinds), kinds, len(kinds) / whole)


def batch(kinds):
    total = sum(part(some, len(kinds)) for some in kinds.split(8))
    optimizer.step()
    return total


for _ in range(15):
    batch(torch.randint(3, (32,)))
