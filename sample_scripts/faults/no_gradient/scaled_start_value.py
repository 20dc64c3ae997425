"""Logistic regression by hand: the start value is scaled after requires_grad, so it is a result and no leaf."""

import torch

torch.manual_seed(0)
x = torch.randn(64, 5)
y = (x.sum(1) > 0).float()
weight = torch.randn(5, requires_grad=True) * 0.1  # expect: GS719
bias = torch.zeros(1, requires_grad=True)
for step in range(20):
    loss = torch.nn.functional.binary_cross_entropy_with_logits(x @ weight + bias, y)
    loss.backward()
    with torch.no_grad():
        for one in (weight, bias):
            one.sub_(0.5 * one.grad)
            one.grad = None
print(f"loss {loss.item():.3f}")
