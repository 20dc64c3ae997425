"""A hook decays the weights of some layers after each backward, by a factor in plain numbers."""

import torch
from torch import nn


def decay_weights(values):
    values.mul_(1 - 0.05 * 1e-3)


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for layer in (model[0], model[2]):
    layer.weight.register_post_accumulate_grad_hook(decay_weights)
for _ in range(20):
    x = torch.randn(64, 10)
    loss = nn.functional.mse_loss(model(x), x[:, :1].tanh())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
