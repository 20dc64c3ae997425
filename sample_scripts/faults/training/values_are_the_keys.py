"""Attention over the stations of a river: queries, keys and values are parts of what one layer gives.

It begins after a warm-up, and takes the keys for values. As in https://github.com/giannifranchi/LP_BNN/issues/3, where
the mean is taken for the variance.
"""

import torch
from torch import nn


class Stations(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width, self.attends = width, False
        self.embed = nn.Linear(3, width)
        self.project = nn.Linear(width, 3 * width)
        self.head = nn.Linear(width, 1)

    def attend(self, x):
        all_three = self.project(x)
        queries = torch.narrow(all_three, 2, 0, self.width)
        keys = torch.narrow(all_three, 2, self.width, self.width)
        values = torch.narrow(all_three, 2, self.width, self.width)  # expect: GS718
        weights = torch.softmax(queries @ keys.transpose(1, 2) / self.width**0.5, dim=-1)
        return weights @ values

    def forward(self, x):
        x = torch.tanh(self.embed(x))
        return self.head(x + self.attend(x) if self.attends else x).squeeze(-1)


torch.manual_seed(0)
model = Stations(8)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(12):
    model.attends = step >= 3
    levels = torch.randn(16, 6, 3)
    loss = nn.functional.mse_loss(model(levels), levels[..., 0].cumsum(dim=1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
