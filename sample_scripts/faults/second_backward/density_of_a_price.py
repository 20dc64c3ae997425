"""Price of options: the second derivative is asked for the first one, after which the price was not computed.

As in https://github.com/pytorch/pytorch/issues/60027.
"""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 8), nn.SiLU(), nn.Linear(8, 1))


def derivatives(strike, time):
    strike = strike.detach().requires_grad_(True)
    price = model(torch.cat([strike, time], 1))
    (slope,) = torch.autograd.grad(price.sum(), strike, create_graph=True)
    (density,) = torch.autograd.grad(price.sum(), slope, create_graph=True)  # expect: GS729
    return slope, density


optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(5):
    slope, density = derivatives(torch.rand(8, 1), torch.rand(8, 1))
    loss = torch.relu(-density).mean() + torch.relu(slope).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done")
