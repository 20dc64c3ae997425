"""The weights of samples are to be learned by what one step on them leads to: that step is a constant.

As in https://github.com/uvm-neurobotics-lab/ANML/issues/3.
"""

import torch
from torch import nn


def one_step(weights, inputs, wanted, importance, rate=0.2):
    loss = (importance.softmax(0) * (inputs @ weights - wanted).square()).sum()
    (slope,) = torch.autograd.grad(loss, weights, create_graph=True)
    return weights - rate * slope


def main():
    torch.manual_seed(0)
    truth = torch.randn(4)
    inputs, checked = torch.randn(12, 4), torch.randn(6, 4)
    wanted = inputs @ truth
    wanted[:4] += 5  # labelled wrongly
    start = nn.Parameter(torch.zeros(4))
    importance = nn.Parameter(torch.zeros(12))
    optimizer = torch.optim.Adam([start, importance], lr=5e-2)
    for _ in range(20):
        optimizer.zero_grad()
        stepped = one_step(start, inputs, wanted, importance)
        loss = (checked @ stepped - checked @ truth).square().mean()
        loss.backward()
        optimizer.step()
    print(f"last: {loss.item():.3f}")


main()
