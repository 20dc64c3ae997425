"""A codebook whose own loss is of detached codes (MishaLaskin/vqvae pull 20, showlab/Olaf-World issue 8)."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Codebook(nn.Module):
    def __init__(self, codes, size):
        super().__init__()
        self.codes = nn.Embedding(codes, size)

    def forward(self, latent):
        nearest = torch.cdist(latent, self.codes.weight).argmin(1)
        chosen = self.codes(nearest)
        commitment = F.mse_loss(latent, chosen.detach())
        moved = F.mse_loss(chosen.detach(), latent.detach())  # expect: GS721
        return latent + (chosen - latent).detach(), moved + 0.25 * commitment


encoder, decoder, codebook = nn.Linear(10, 6), nn.Linear(6, 10), Codebook(12, 6)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters(), *codebook.parameters()], lr=2e-3)
for step in range(24):
    frames = torch.randn(32, 10)
    codes, extra = codebook(encoder(frames))
    loss = F.mse_loss(decoder(codes), frames) + extra
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
