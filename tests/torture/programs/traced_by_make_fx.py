"""A graph that make_fx takes down holds the program's operators and no others."""

import torch
from torch.func import grad, vmap
from torch.fx.experimental.proxy_tensor import make_fx


def loss(x):
    return torch.tanh(x * 2).sum()


for mode in ("real", "fake", "symbolic"):
    for function in (loss, grad(loss), vmap(grad(lambda row: loss(row) / 0))):
        print(mode, make_fx(function, tracing_mode=mode)(torch.ones(2, 3)).code)
x = torch.ones(3, requires_grad=True)
loss(x).backward()
print(x.grad)
