"""backward(create_graph=True) leaves the graph in the input's .grad: a cycle that nothing frees."""

import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore")
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
for _ in range(10):
    x = torch.randn(4, 3, requires_grad=True)
    energy = model(x).sum()
    (gradient,) = torch.autograd.grad(energy, x, create_graph=True)
    force = -gradient
    force.square().mean().backward()
    model.zero_grad()
