"""A heat equation with an unknown factor: the second derivative is a constant (after pytorch/pytorch#31984)."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
factor = nn.Parameter(torch.tensor(-2.0))
optimizer = torch.optim.Adam([*model.parameters(), factor], lr=5e-3)


def slope(of, at, **options):
    return torch.autograd.grad(of, at, torch.ones_like(of), **options)[0]  # expect: GS772


for step in range(12):
    x, t = torch.rand(64, 1, requires_grad=True), torch.rand(64, 1, requires_grad=True)
    u = model(torch.cat([x, t], dim=1))
    u_t, u_x = slope(u, t, create_graph=True), slope(u, x, create_graph=True)
    u_xx = slope(u_x, x, retain_graph=True)
    start = torch.rand(64, 1)
    known = model(torch.cat([start, torch.zeros_like(start)], dim=1))
    loss = (u_t - factor.exp() * u_xx).square().mean() + (known - torch.sin(torch.pi * start)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
