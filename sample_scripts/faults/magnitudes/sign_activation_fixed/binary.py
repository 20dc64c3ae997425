"""A layer whose outputs are -1 and 1."""

import torch
from torch import nn


class BinaryLayer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x):
        z = self.linear(x)
        return z.tanh() + (torch.sign(z) - z.tanh()).detach()
