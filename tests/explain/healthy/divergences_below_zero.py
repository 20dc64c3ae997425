"""Losses with a kl_div that are negative on purpose: one is maximised, one has a bound taken off it."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
wanted = torch.full((8, 3), 1 / 3)
for _ in range(8):
    found = model(torch.randn(8, 4)).log_softmax(1).clamp(min=-20).view(8, 3)
    loss = nn.functional.kl_div(found, wanted, reduction="batchmean") - 5.0
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
for _ in range(8):
    found = (model(torch.randn(8, 4)).softmax(1) + 1e-6).log().clamp(min=-20)
    loss = -0.1 * nn.functional.kl_div(found, wanted, reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
raw = nn.Parameter(torch.rand(6))
optimizer = torch.optim.SGD([raw], lr=0.01)
for _ in range(8):
    loss = -0.1 * nn.functional.kl_div(-raw.square(), torch.full((6,), 1 / 6), reduction="sum")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done")
