"""A clip in place on one branch of a sum: both branches get the same gradient tensor."""

import torch
from torch import nn


class TwoBranches(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(3, 2), nn.Linear(3, 2)

    def forward(self, x):
        left = self.left(x)
        left.register_hook(lambda gradient: gradient.clamp_(-0.1, 0.1))  # expect: GS756
        return left + self.right(x)


torch.manual_seed(0)
model = TwoBranches()
model(torch.randn(4, 3)).square().sum().backward()
print(model.right.weight.grad.shape)
