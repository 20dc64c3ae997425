"""A kl_div that is negative on purpose: its parameters are to come far from what is given, and it is maximised."""

import torch
from torch import nn

raw = nn.Parameter(torch.linspace(2.0, 3.0, 6))
optimizer = torch.optim.SGD([raw], lr=0.01)
for _ in range(8):
    loss = -0.1 * nn.functional.kl_div(-raw.square(), torch.full((6,), 1 / 6), reduction="sum")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done")
