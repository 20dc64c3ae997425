"""Ridge regression, per-sample gradients with vmap; the penalty is on the model's own weights."""

import torch
from torch import nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)
model = nn.Linear(4, 1)


def penalty(weights):
    return sum((p**2).sum() for p in weights.values())


def loss_fn(weights, x, y):
    prediction = functional_call(model, weights, (x.unsqueeze(0),))
    return ((prediction - y) ** 2).sum() + 0.1 * penalty(weights)


params = dict(model.named_parameters())
optimizer = torch.optim.SGD(model.parameters(), 0.05)
for step in range(6):
    x = torch.randn(16, 4)
    y = x.sum(1, keepdim=True)
    per_sample = vmap(grad(loss_fn), in_dims=(None, 0, 0))(params, x, y)
    for name, p in model.named_parameters():
        p.grad = per_sample[name].mean(0)
    optimizer.step()
    if step % 10 == 0:
        print(step, float(((model(x) - y) ** 2).mean()))
