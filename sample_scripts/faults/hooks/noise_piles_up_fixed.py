"""Gradient noise by a hook on a module, set up again at the start of each epoch and after each restart."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def add_noise(module, grad_input, grad_output):
    return tuple(None if one is None else one + 1e-3 * torch.randn_like(one) for one in grad_input)


def set_up(module):
    module.train()
    return module.register_full_backward_hook(add_noise)


for epoch in range(6):
    handle = set_up(model[2])
    for _ in range(5):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    handle.remove()
print(f"loss {loss.item():.3f}")
