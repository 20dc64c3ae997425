"""Ripeness of fruit: a head learns alone for two passes, then its trunk joins. As in https://github.com/pytorch/tutorials/issues/61."""

import torch
from torch import nn


def fruit(count):
    spectrum = torch.rand(count, 12)
    return spectrum, (spectrum[:, :6].sum(1, keepdim=True) - spectrum[:, 6:].prod(1, keepdim=True)).tanh()


def learnable(*modules):
    return [weight for module in modules for weight in module.parameters() if weight.requires_grad]


torch.manual_seed(2)
trunk = nn.Sequential(nn.Linear(12, 20), nn.Tanh(), nn.Linear(20, 8), nn.Tanh())
head = nn.Linear(8, 1)
for weight in trunk.parameters():
    weight.requires_grad = False
optimizer = torch.optim.SGD(learnable(trunk, head), lr=0.05, momentum=0.9)

passes = 0
while passes < 7:  # expect: GS906 called_at
    if passes > 1:  # expect: GS906
        for weight in trunk.parameters():
            weight.requires_grad = True
        optimizer = torch.optim.SGD(learnable(trunk, head), lr=0.02, momentum=0.9)  # expect: GS906 declared_at
    total = 0.0
    for _ in range(8):
        spectrum, ripe = fruit(24)
        optimizer.zero_grad(set_to_none=False)
        loss = (head(trunk(spectrum)) - ripe).square().mean()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"pass {passes}: {total / 8:.4f}")
    passes += 1
