"""A forward hook that clamps a layer's output in place, which the activation had saved."""

import torch
from torch import nn


def clamp_output(module, inputs, output):
    output.clamp_(max=0.9)  # expect: GS701


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 1))
model[1].register_forward_hook(clamp_output)
loss = model(torch.randn(5, 3)).sum()
loss.backward()  # expect: GS701 fails_at
print(model[0].weight.grad.shape)
