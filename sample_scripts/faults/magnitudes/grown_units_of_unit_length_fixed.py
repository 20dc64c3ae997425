"""Network that grows: its rows of weights are divided by their length, and those that are added begin at random.

As in https://github.com/pytorch/pytorch/issues/184575.
"""

import torch
from torch import nn

BEGIN = 0.5


class UnitRows(nn.Module):
    def __init__(self, wide, rows):
        super().__init__()
        self.rows = nn.Parameter(torch.randn(rows, wide))
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        unit = self.rows / (self.rows.norm(dim=1, keepdim=True) + 1e-12)
        return torch.tanh(x @ unit.t()).sum(1) + self.bias


def grow(model, more):
    return nn.Parameter(torch.cat([model.rows.detach(), BEGIN * torch.randn(more, model.rows.shape[1])]))


torch.manual_seed(0)
model = UnitRows(6, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(50):
    if step == 22:
        model.rows = grow(model, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(16, 6)
    loss = (model(x) - x.sin().sum(1)).square().mean() + 1e-4 * model.rows.square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done")
