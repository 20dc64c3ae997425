"""A module hook that is registered when the graph is there already."""

import torch
from torch import nn


def report(module, grad_input, grad_output):
    print("gradient", grad_output[0].norm().item())


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
model[0].register_full_backward_hook(report)
loss = model(torch.randn(5, 3)).square().mean()
loss.backward()
print(loss.item())
