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


steps(150)  # until every table has its size
before = max(steps(50), steps(50))
steps(300)
# What waits to be written comes and goes, and is more on a busy machine: some look finds little. What grows stays.
print("grows by less than three blocks a step:", any(steps(50) - before < 3 * 300 for _ in range(20)))
