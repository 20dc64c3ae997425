"""Two stages of training with a decay of their own: the second loads the first one's optimizer and sets its rate.

As in https://github.com/pytorch/pytorch/issues/156846.
"""

import copy
import math

import torch
from torch import nn


class Stage:
    def __init__(self, model, rate, steps, state=None):
        self.model, self.steps = model, steps
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
        if state is not None:
            self.optimizer.load_state_dict(state)
            for group in self.optimizer.param_groups:
                group["lr"] = rate

    def decay(self, step):
        before, after = (max(0.5 * (1 + math.cos(math.pi * at / self.steps)), 1e-4) for at in (step, step + 1))
        for group in self.optimizer.param_groups:
            group["lr"] *= after / before

    def run(self, shift):
        for step in range(self.steps):
            x = torch.randn(8, 3) + shift
            loss = (self.model(x) - x.sum(1, keepdim=True)).square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.decay(step)
        return copy.deepcopy(self.optimizer.state_dict())


torch.manual_seed(0)
model = nn.Linear(3, 1)
state = Stage(model, 1e-2, 30).run(0.0)
Stage(model, 1e-2, 30, state).run(1.0)
print("done")
