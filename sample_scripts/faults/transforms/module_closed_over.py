"""Fit a pendulum's energy with torch.func, per-sample penalty."""

import torch
from torch import nn
from torch.func import grad

torch.manual_seed(0)


class Energy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


model = Energy()
params = {name: p.detach().clone() for name, p in model.named_parameters()}


def loss_fn(weights, x, y):
    prediction = model(x)  # expect: GS777
    return ((prediction - y) ** 2).mean()


for step in range(6):
    x = torch.randn(32, 2)
    y = 0.5 * x[:, 1] ** 2 + 1 - torch.cos(x[:, 0])
    grads = grad(loss_fn)(params, x, y)
    params = {name: params[name] - 0.1 * grads[name] for name in params}
    if step % 10 == 0:
        print(step, float(loss_fn(params, x, y)))
