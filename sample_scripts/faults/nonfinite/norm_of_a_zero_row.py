"""A penalty on the norm of each row of a weight that starts at zero, written as a root of squares."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
nn.init.zeros_(model[2].weight)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def group_lasso(weight):
    return (weight**2).sum(dim=1).sqrt().sum()  # expect: GS731


for step in range(3):
    loss = model(torch.randn(8, 4)).square().mean() + 0.01 * group_lasso(model[2].weight)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item(), model[2].weight.isfinite().all().item())
