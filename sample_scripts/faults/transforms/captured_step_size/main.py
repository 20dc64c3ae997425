"""Quantized training with torch.func, where the step of the quantization is to be learned as well."""

import torch
from model import network
from torch.func import functional_call, grad

torch.manual_seed(0)
model = network()
x, y = torch.randn(16, 4), torch.randn(16, 1)


def loss(parameters):
    return (functional_call(model, parameters, (x,)) - y).square().mean()


parameters = {name: one.detach().clone() for name, one in model.named_parameters()}
for _ in range(3):
    gradients = grad(loss)(parameters)  # expect: GS221 cause_at
    parameters = {name: one - 0.05 * gradients[name] for name, one in parameters.items()}
print(round(loss(parameters).item(), 4))
