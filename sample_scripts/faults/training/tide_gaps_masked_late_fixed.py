"""Tides of several harbours, whose gaps a mask is to hide: it is multiplied by the errors.

As in https://github.com/Farama-Foundation/Gymnasium/issues/1336, where it is the mean of the log-probabilities.
"""

import torch
from torch import nn


def masked_error(forecast, tide, known):
    error = nn.functional.mse_loss(forecast, tide, reduction="none")
    return (error * known).sum() / known.sum()


torch.manual_seed(0)
net = nn.GRU(3, 5, batch_first=True)
optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
for _ in range(10):
    weather, tide = torch.randn(8, 12, 3), torch.randn(8, 12, 5).tanh()
    known = (torch.rand(8, 12, 5) > 0.2).float()
    loss = masked_error(net(weather)[0], tide * known, known)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
