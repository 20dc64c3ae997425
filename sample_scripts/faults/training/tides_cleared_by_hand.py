"""Guesses the height of the tide with two networks, whose gradients are cleared by hand.

As in https://github.com/tenstorrent/tt-blacksmith/pull/711.
"""

import itertools

import torch
from torch import nn

torch.manual_seed(4)
moon, wind = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)), nn.Linear(2, 1)
weights = itertools.chain.from_iterable(one.parameters() for one in (moon, wind))  # expect: GS801
optimizer = torch.optim.SGD(weights, lr=0.02)


def forget():
    for weight in weights:
        if weight.grad is not None:
            weight.grad.zero_()


def learn(sky, air, height):
    forget()
    loss = (moon(sky) + wind(air) - height).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()


for day in range(30):
    sky, air = torch.randn(24, 3), torch.randn(24, 2)
    last = learn(sky, air, sky[:, :1] - 0.5 * air[:, 1:])
print(f"{last:.3f}")
