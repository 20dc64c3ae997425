"""Tells leaks from the pressures in a network of pipes, of any number: the loss of each network is added up.

As in https://github.com/pytorch/pytorch/issues/50528.
"""

import torch
from torch import nn

torch.manual_seed(1)
pipe, told = nn.Linear(3, 10), nn.Linear(10, 2)
optimizer = torch.optim.Adam([*pipe.parameters(), *told.parameters()], lr=3e-3)


def judged(network, leaks):
    logits = told(torch.relu(pipe(network)).amax(0, keepdim=True))
    return nn.functional.cross_entropy(logits, leaks.view(1), torch.tensor([1.0, 9.0]), reduction="sum")


for step in range(8):
    networks = [torch.randn(int(torch.randint(3, 9, ())), 3) for _ in range(6)]
    loss = sum(judged(one, (one.amax() > 2).long()) for one in networks) / len(networks)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
