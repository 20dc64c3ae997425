"""Gradient descent by hand, which makes new tensors of the parameters while gradients are off.

As in https://github.com/pytorch/pytorch/issues/74158.
"""

import torch


def fit(parameters, rate, steps):
    for _ in range(steps):
        for one in parameters:
            one.grad = None
        x = torch.randn(16, 3)
        hidden = torch.tanh(x @ parameters[0] + parameters[1])
        loss = (hidden @ parameters[2] - x[:, :1]).square().mean()
        loss.backward()
        with torch.no_grad():
            parameters = [one - rate * one.grad for one in parameters]  # expect: GS723
    return loss.item()


torch.manual_seed(0)
shapes = ((3, 5), (5,), (5, 1))
print(f"{fit([torch.randn(shape, requires_grad=True) for shape in shapes], 0.05, 10):.3f}")
