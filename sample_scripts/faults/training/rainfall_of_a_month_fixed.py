"""Draws the rain of a month from its weather; the spread is computed once and used for both.

As in https://github.com/rachtsingh/ibp_vae/issues/3.
"""

import torch
from torch import nn


def loss_of(encoder, decoder, weather, rain):
    location, logarithm = encoder(torch.cat([weather, rain], 1)).split(2, dim=1)
    variance = torch.exp(logarithm)
    drawn = location + variance.sqrt() * torch.randn(location.shape)  # expect: GS884
    told = decoder(torch.cat([weather, drawn], 1))
    kept = (variance + location.square() - (1 + logarithm)).sum(1) / 2
    return ((told - rain).square().sum(1) + kept).mean()


torch.manual_seed(2)
encoder, decoder = nn.Linear(7, 4), nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=5e-3)
for step in range(16):
    weather = torch.randn(40, 4)
    loss = loss_of(encoder, decoder, weather, weather[:, :3].relu())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.2f}")
