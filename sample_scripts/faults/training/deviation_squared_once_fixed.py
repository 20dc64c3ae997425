"""Codes temperatures: the network gives the logarithm of a deviation, and the divergence wants its square.

As in https://github.com/rachtsingh/ibp_vae/issues/3.
"""

import torch
from torch import nn

torch.manual_seed(3)
encoder, decoder = nn.Linear(10, 4), nn.Linear(2, 10)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
for step in range(16):
    days = torch.randn(48, 2) @ torch.ones(2, 10)
    mean, log_deviation = encoder(days).chunk(2, 1)
    drawn = mean + log_deviation.exp() * torch.randn_like(mean)
    divergence = -0.5 * (1 + 2 * log_deviation - mean**2 - (2 * log_deviation).exp())
    loss = (decoder(drawn) - days).square().sum(1).mean() + divergence.sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
