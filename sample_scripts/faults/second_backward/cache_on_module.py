"""A module that computes its position features once and keeps them, with their graph."""

import torch
from torch import nn


class Positions(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed = nn.Linear(1, width)
        self.cache = None

    def forward(self, x):
        if self.cache is None:
            self.cache = self.embed(torch.arange(float(x.shape[1]))[:, None]).tanh()  # expect: GS712
        return x + self.cache


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 4), Positions(4), nn.Linear(4, 1))
for batch in torch.utils.data.DataLoader(torch.randn(6, 3, 4), batch_size=2):
    loss = model(batch).square().mean()
    loss.backward()  # expect: GS712 first_backward_at
print("trained")
