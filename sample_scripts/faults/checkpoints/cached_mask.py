"""A mask that is made at the first call and kept: the recomputation finds it made."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(8, 8)
        self.scale = nn.Parameter(torch.ones(1))
        self.cache = None

    def forward(self, x):
        weights = self.project(x) @ x.transpose(1, 2)
        if self.cache is None:  # expect: GS770
            self.cache = (self.scale * torch.tril(torch.ones(5, 5))).exp()  # expect: GS770 differs_at
        return (weights * self.cache) @ x


torch.manual_seed(0)
attention = Attention()
for step in range(2):
    attention.cache = None
    x = torch.randn(2, 5, 8)
    checkpoint(attention, x, use_reentrant=False).sum().backward()
    print(step)
