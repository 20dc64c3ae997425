"""A physics-informed network with ReLU: between its kinks it is linear, and its second derivative is zero."""

import torch
from torch import nn

torch.manual_seed(0)


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(1, 16), nn.Linear(16, 1)

    def forward(self, t):
        return self.last(torch.tanh(self.first(t)))


field = Field()
optimizer = torch.optim.Adam(field.parameters())
for step in range(2):
    t = torch.rand(16, 1, requires_grad=True)
    u = field(t)
    (slope,) = torch.autograd.grad(u.sum(), t, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), t, create_graph=True, materialize_grads=True)
    loss = (curvature + u).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
