"""Tide heights by gauges, of small batches whose gradients are gathered: the rate falls by a cosine of its own.

As in https://github.com/huggingface/accelerate/issues/963.
"""

import math

import torch
from torch import nn

GATHERED, EPOCHS = 4, 4


class Descent:
    def __init__(self, parameters, updates):
        self.optimizer = torch.optim.SGD(parameters, lr=0.1, momentum=0.9)
        self.updates, self.done = updates, 0

    def rate(self):
        return 0.1 * (1 + math.cos(math.pi * min(self.done / self.updates, 1.0))) / 2

    def advance(self):
        self.done += 1
        self._hand_on(self.rate())

    def _hand_on(self, rate):
        for group in self.optimizer.param_groups:
            group["lr"] = rate  # expect: GS805 modified_at


def learn(model, descent, batches):
    for at, (hours, heights) in enumerate(batches, 1):
        with torch.autograd.profiler.record_function("tide"):
            loss = nn.functional.huber_loss(model(hours), heights) / GATHERED
            loss.backward()
        if at % GATHERED == 0:
            descent.optimizer.step()
            descent.optimizer.zero_grad()
        descent.advance()  # expect: GS805


torch.manual_seed(4)
hours = torch.rand(96, 3)
heights = torch.sin(6 * hours).sum(dim=1, keepdim=True)
batches = list(zip(hours.split(4), heights.split(4), strict=True))
model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
descent = Descent(model.parameters(), EPOCHS * len(batches) // GATHERED)
for _ in range(EPOCHS):
    learn(model, descent, batches)
