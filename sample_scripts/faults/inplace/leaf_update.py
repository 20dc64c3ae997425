"""Gradient descent by hand: the update is recorded by autograd."""

import torch

weight = torch.tensor([1.0, -2.0], requires_grad=True)
for _ in range(3):
    loss = weight.square().sum()
    loss.backward()
    weight -= 0.1 * weight.grad  # expect: GS703
    weight.grad = None
print(weight)
