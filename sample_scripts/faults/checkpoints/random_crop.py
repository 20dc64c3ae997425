"""A crop whose width is drawn by numpy inside a checkpointed block: the recomputation draws another one."""

import numpy as np
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

np.random.seed(0)
torch.manual_seed(0)


class Crop(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(8, 8)
        self.scale = nn.Parameter(torch.ones(8))

    def forward(self, x):
        hidden = self.embed(x).relu()
        width = np.random.randint(1, 8)  # expect: GS770
        hidden = hidden[:, :width]
        return (hidden * self.scale[:width]).exp().sum()


model = Crop()
for step in range(5):
    checkpoint(model, torch.randn(4, 8), use_reentrant=False).backward()  # expect: GS770 checkpoint_at
    print(step)
