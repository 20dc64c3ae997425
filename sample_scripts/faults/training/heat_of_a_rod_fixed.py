"""Conductance and loss of a heated rod are fitted by hand to what a few probes read; each slope is taken off.

As in https://github.com/greebear/pytorch-learning/issues/1.
"""

import torch

LENGTH, DT = 24, 0.2


def heated(conductance, leak, steps=12):
    warmth = torch.zeros(LENGTH)
    source = torch.zeros(LENGTH)
    source[LENGTH // 3] = 1.0
    for _ in range(steps):
        curved = torch.roll(warmth, 1) + torch.roll(warmth, -1) - 2 * warmth
        warmth = warmth + DT * (conductance * curved - leak * warmth + source)
    return warmth


def improve(values, rate):
    for value in values:
        value.data.sub_(rate * value.grad)
        value.grad.detach_().zero_()


torch.manual_seed(0)
measured = heated(torch.tensor(0.9), torch.tensor(0.3)) + 0.005 * torch.randn(LENGTH)
conductance = torch.tensor(0.4, requires_grad=True)
leak = torch.tensor(0.1, requires_grad=True)
for step in range(50):
    probes = torch.randperm(LENGTH)[:12]
    miss = (heated(conductance, leak)[probes] - measured[probes]).square().sum()
    miss.backward()
    improve((conductance, leak), 0.05)
    if step % 10 == 9:
        print(f"{step}: {miss.item():.4f}")
