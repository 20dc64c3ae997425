"""An optimizer that calls a closure several times in a step."""

import torch

torch.manual_seed(0)
x = torch.randn(4, requires_grad=True)
o = torch.optim.LBFGS([x], max_iter=5)


def closure():
    o.zero_grad()
    loss = (x**4).sum() + x.sum()
    loss.backward()
    return loss


for _i in range(4):
    o.step(closure)
