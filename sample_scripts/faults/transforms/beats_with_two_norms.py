"""Noise of gradients per sample, by vmap over a network in training mode with two batch norms.

As in https://github.com/pytorch/pytorch/issues/96655.
"""

import torch
from torch import nn
from torch.func import functional_call, grad, vmap


class Beats(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(1, 4, 3, padding=1)
        self.even = nn.BatchNorm1d(4)  # expect: GS775
        self.second = nn.Conv1d(4, 4, 3, padding=1)
        self.last = nn.BatchNorm1d(4)

    def forward(self, x):
        x = torch.relu(self.even(self.first(x)))
        return torch.relu(self.last(self.second(x))).mean(2)


torch.manual_seed(0)
model = Beats()
weights, state = dict(model.named_parameters()), dict(model.named_buffers())


def loss_of_one(weights, x, y):
    scores = functional_call(model, (weights, state), (x.unsqueeze(0),))
    return nn.functional.cross_entropy(scores, y.unsqueeze(0))


x, y = torch.randn(6, 1, 12), torch.randint(4, (6,))
each = vmap(grad(loss_of_one), in_dims=(None, 0, 0))(weights, x, y)
print(sorted(each))
