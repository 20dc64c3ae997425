"""Differentiates all columns of a slope at once where that is meant: along a draw, of one column, of columns apart."""

import torch
from torch import nn


def slopes(values, x):
    return torch.autograd.grad(values, x, torch.ones_like(values), create_graph=True)[0]


def trace_by_draws(net, x):
    slope = slopes(net(x), x)
    draw = torch.randn_like(x).sign()
    return (torch.autograd.grad(slope, x, draw, create_graph=True)[0] * draw).sum(1)


def bend_of_one_column(net, t):
    return slopes(slopes(net(t), t), t).sum(1)


def bends_of_columns_apart(weight, x):
    values = torch.tanh(x * weight)
    return slopes(slopes(values, x), x).sum(1)


def stiffness(net, x):
    slope = slopes(net(x), x)
    return slopes(slope, x).square().mean()


def trace_by_columns(net, x):
    slope = slopes(net(x), x)
    return sum(slopes(slope[:, k : k + 1], x)[:, k] for k in range(x.shape[1]))


torch.manual_seed(0)
plane = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
line = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
weight = nn.Parameter(torch.ones(4))
optimizer = torch.optim.Adam([*plane.parameters(), *line.parameters(), weight], lr=5e-3)
for step in range(24):
    x, t, y = (torch.rand(48, columns, requires_grad=True) for columns in (2, 1, 4))
    told = trace_by_draws(plane, x), bend_of_one_column(line, t), bends_of_columns_apart(weight, y)
    loss = sum((one - 1).square().mean() for one in (*told, trace_by_columns(plane, x))) + stiffness(plane, x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 8 == 0:
        print(f"{step}: {loss.item():.4f}")
