"""How much a loss moves when a weight does, with detached weights, for a network with a batch norm that trains."""

import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.Tanh(), nn.Linear(6, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(10):
    x = torch.randn(16, 3)
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    still = {name: one.detach().clone() for name, one in model.named_parameters()}
    moved = functional_call(model, {**still, "0.weight": still["0.weight"] + 0.01}, (x,))
print(f"{loss.item():.3f} {(moved - x.sum(1, keepdim=True)).square().mean().item():.3f}")
