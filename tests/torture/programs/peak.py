"""Torch's own memory: the most it holds at any time, for the ways in which graphs are freed."""

import torch
from _witness import bits, memory
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
model = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(128, 128), torch.nn.GELU()) for _ in range(4)))
optimizer = torch.optim.Adam(model.parameters())
data = torch.randn(64, 128)


def train():
    for _ in range(3):
        optimizer.zero_grad()
        model(data).square().mean().backward()
        optimizer.step()


def penalty():
    x = data.clone().requires_grad_()
    (slope,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    slope.norm().backward()


def recompute():
    x = data.clone().requires_grad_()
    for layer in model:
        x = checkpoint(layer, x, use_reentrant=False)
    x.sum().backward()


def cut_short():
    x = data.clone().requires_grad_()
    y = model(x)
    y.register_hook(lambda gradient: 1 / 0)
    try:
        y.sum().backward()
    except ZeroDivisionError:
        pass


for work in (train, penalty, recompute, cut_short):
    memory(work)
    print(work.__name__, bits(*model.parameters()))
