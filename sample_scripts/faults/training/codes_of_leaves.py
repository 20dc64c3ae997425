"""Codes the outlines of leaves: the noise of a code has the deviation that the network gives.

As in https://github.com/rachtsingh/ibp_vae/issues/3.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
encoder, decoder = nn.Linear(12, 6), nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 12))
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
outlines = torch.randn(96, 3) @ torch.randn(3, 12)
for step in range(20):
    mean, log_variance = encoder(outlines).chunk(2, dim=1)
    code = mean + torch.randn_like(mean) * log_variance.exp()  # expect: GS884
    divergence = -0.5 * (1 + log_variance - mean.pow(2) - log_variance.exp()).sum(1).mean()
    loss = F.mse_loss(decoder(code), outlines, reduction="sum") / len(outlines) + divergence
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.2f}")
