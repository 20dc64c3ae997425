"""Weights averaged with foreach operators between the forward and the backward."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
average = [parameter.detach().clone() for parameter in model.parameters()]


def pull_towards_average(parameters, average):
    with torch.no_grad():
        torch._foreach_lerp_(list(parameters), average, 0.1)  # expect: GS701


for _ in range(3):
    loss = model(torch.randn(5, 4)).square().mean()
    pull_towards_average(model.parameters(), average)
    loss.backward()  # expect: GS701 fails_at
print(model[0].weight.grad.shape)
