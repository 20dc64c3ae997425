"""Songs of birds as classes: an object that limits gradients hangs itself on all weights, and limits their gradients.

As in https://github.com/pytorch/pytorch/pull/187339.
"""

import torch
from torch import nn


class GradientLimiter:
    def __init__(self, bound):
        self.bound = bound

    def watch(self, network):
        for weight in network.parameters():
            weight.register_post_accumulate_grad_hook(self.apply_to)

    def apply_to(self, x):
        x.grad.copy_(x.grad.clamp(-self.bound, self.bound))


torch.manual_seed(0)
birds = nn.Sequential(nn.Conv1d(4, 8, 5), nn.ReLU(), nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(8, 3))
GradientLimiter(0.1).watch(birds)
optimizer = torch.optim.SGD(birds.parameters(), lr=0.1, momentum=0.9)
for _ in range(8):
    songs, kinds = torch.randn(16, 4, 40), torch.randint(3, (16,))
    optimizer.zero_grad()
    nn.functional.cross_entropy(birds(songs), kinds).backward()
    optimizer.step()
