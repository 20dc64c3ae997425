"""A running mean that the model keeps as a buffer, under torch.func.grad."""

import torch
from torch import nn
from torch.func import functional_call, grad


class Centered(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)
        self.register_buffer("mean", torch.zeros(1))

    def forward(self, x):
        out = self.layer(x)
        return out - self.mean.lerp(out.mean(0), 0.1)


torch.manual_seed(0)
model = Centered()
parameters = {name: value.detach() for name, value in model.named_parameters()}


def loss(parameters, x):
    return functional_call(model, parameters, (x,)).square().mean()


for _ in range(2):
    gradients = grad(loss)(parameters, torch.randn(4, 3))
    parameters = {name: value - 0.1 * gradients[name] for name, value in parameters.items()}
print(loss(parameters, torch.randn(4, 3)).item())
