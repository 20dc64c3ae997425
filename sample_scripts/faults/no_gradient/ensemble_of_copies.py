"""An ensemble whose members are optimised while their stacked copies run (pytorch/pytorch pull 92278)."""

import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

torch.manual_seed(0)
members = [nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1)) for _ in range(3)]
optimizer = torch.optim.Adam([weight for member in members for weight in member.parameters()], lr=1e-2)
weights, buffers = stack_module_state(members)  # expect: GS724


def predict(weights, buffers, inputs):
    return functional_call(members[0], (weights, buffers), (inputs,))


for step in range(18):
    inputs = torch.randn(24, 6)
    predictions = vmap(predict, in_dims=(0, 0, None))(weights, buffers, inputs)
    loss = (predictions - inputs.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
