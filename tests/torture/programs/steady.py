"""What lives after many steps is what lived after some: nothing grows from step to step."""

import gc
import sys

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
model[0].register_full_backward_hook(lambda module, passed, received: None)
optimizer = torch.optim.SGD(model.parameters(), 0.001, momentum=0.9)
data = torch.randn(2, 4)


def steps(count):
    for _ in range(count):
        optimizer.zero_grad()
        y = model(data)
        y.register_hook(lambda gradient: gradient)
        x = data.clone().requires_grad_()
        (slope,) = torch.autograd.grad(model(x).exp().sum(), x, create_graph=True)
        (y.square().sum() + slope.sum()).backward()
        optimizer.step()
    gc.collect()
    return sys.getallocatedblocks()


def grew(blocks, looks):
    """Whether each of some looks, 50 steps apart, finds three more blocks for each step since there were ``blocks``."""
    return all(steps(50) - blocks >= 3 * (300 + 50 * look) for look in range(1, looks + 1))


steps(150)  # until every table has its size
before = max(steps(50), steps(50))
steps(300)
# What waits to be written comes and goes by thousands of blocks: some look finds little. What grows stays.
print("grows by less than three blocks a step:", not grew(before, looks=20))
