"""Prices a queue's wait: from the sixth step on the excess is computed in the memory of the estimates themselves.

As in https://github.com/pytorch/pytorch/issues/7860.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
estimator = nn.Sequential(nn.Linear(4, 12), nn.Tanh(), nn.Linear(12, 1))
optimizer = torch.optim.Adam(estimator.parameters(), lr=1e-2)


def excess(estimates, waits, step):
    if step < 5:
        return waits - waits.mean()
    return estimates.detach().neg_().add_(waits)  # expect: GS702


for step in range(14):
    queue = torch.rand(32, 4)
    waits = queue.sum(1) ** 2
    estimates = estimator(queue).squeeze(-1)
    largest = excess(estimates, waits, step).abs().max()
    loss = F.mse_loss(estimates, waits)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{step} loss {loss.item():.3f} largest excess {largest:.3f}")
