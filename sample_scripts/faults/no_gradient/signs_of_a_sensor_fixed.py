"""An encoder of a sensor's readings, whose code is made of signs alone once it has settled.

As in https://discuss.pytorch.org/t/simple-custom-qat-backward-function/138095.
"""

import torch
from torch import nn


class Coder(nn.Module):
    def __init__(self, parts, length):
        super().__init__()
        self.into = nn.Sequential(nn.Linear(parts, 32), nn.GELU(), nn.Linear(32, length))
        self.back = nn.Linear(length, parts)
        self.binary = False

    def code(self, readings):
        soft = torch.tanh(self.into(readings))
        if not self.binary:
            return soft
        return soft + (soft.sign() - soft).detach()

    def forward(self, readings):
        return self.back(self.code(readings))


def one_pass(coder, optimizer, steps):
    for _ in range(steps):
        readings = torch.randn(24, 2) @ torch.ones(2, 6).cumsum(1)
        loss = nn.functional.l1_loss(coder(readings), readings)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(1)
coder = Coder(6, 8)
optimizer = torch.optim.RMSprop(coder.parameters(), 0.002)
print(f"soft {one_pass(coder, optimizer, 21):.3f}")
coder.binary = True
print(f"signs {one_pass(coder, optimizer, 30):.3f}")
