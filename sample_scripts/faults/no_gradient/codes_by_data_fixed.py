"""A residual quantiser whose codes are parameters all the way."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Level(nn.Module):
    def __init__(self, codes, size):
        super().__init__()
        self.codes = nn.Parameter(torch.randn(codes, size))

    def forward(self, residual):
        table = self.codes
        chosen = table[torch.cdist(residual, table).argmin(1)]
        return chosen, F.mse_loss(chosen, residual.detach()) + 0.25 * F.mse_loss(residual, chosen.detach())


encoder, decoder = nn.Linear(10, 6), nn.Linear(6, 10)
levels = nn.ModuleList(Level(12, 6) for _ in range(2))
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters(), *levels.parameters()], lr=2e-3)
for step in range(24):
    items = torch.randn(32, 10)
    latent = encoder(items)
    residual, total, quantised = latent, 0.0, torch.zeros_like(latent)
    for level in levels:
        chosen, extra = level(residual)
        residual, quantised, total = residual - chosen, quantised + chosen, total + extra
    loss = F.mse_loss(decoder(latent + (quantised - latent).detach()), items) + total
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
