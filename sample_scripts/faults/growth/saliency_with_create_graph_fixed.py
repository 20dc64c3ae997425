"""A saliency map of each batch, with a create_graph that nobody needs."""

import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore")
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(10):
    x = torch.randn(5, 3, requires_grad=True)
    loss = model(x).square().mean()
    loss.backward()
    saliency = x.grad.abs().mean().item()
    optimizer.step()
    optimizer.zero_grad()
