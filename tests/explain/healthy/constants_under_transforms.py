"""Parameters that are constants by intent in what torch.func differentiates: under no_grad, by `.data`."""

import torch
from torch import nn
from torch.func import functional_call, grad

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
x = torch.randn(16, 4)


def scaled(parameters):
    with torch.no_grad():
        scale = functional_call(net, parameters, (x,)).abs().mean()
    return functional_call(net, parameters, (x,)).sum() * scale


def normed(parameters):
    with torch.no_grad():
        size = sum(p.square().sum() for p in net.parameters())
    return functional_call(net, parameters, (x,)).sum() / size


def normed_by_values(parameters):
    size = sum(p.data.square().sum() for p in net.parameters())
    return functional_call(net, parameters, (x,)).sum() / size


for function in (scaled, normed, normed_by_values):
    gradients = grad(function)(dict(net.named_parameters()))
    print(sorted((name, value.sum().item()) for name, value in gradients.items()))
