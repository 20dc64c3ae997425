"""Rows of a result that are normalised in place, one by one."""

import torch
from torch import nn


class RowNorm(nn.Module):
    def forward(self, x):
        for row in x:
            row.div_(row.detach().norm())  # expect: GS705
        return x


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), RowNorm(), nn.Linear(4, 1))
for batch in torch.utils.data.DataLoader(torch.randn(6, 3), batch_size=3):
    model(batch).sum().backward()
print("done")
