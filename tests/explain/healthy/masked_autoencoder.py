"""Masked autoencoder on patches whose mse target is the input, the count of hidden patches is fixed."""

import torch
import torch.nn.functional as F
from torch import nn

PATCHES, PIXELS, HIDDEN = 16, 9, 8


class MAE(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.embed = nn.Linear(PIXELS, d)
        self.position = nn.Parameter(0.1 * torch.randn(PATCHES, d))
        self.mask_token = nn.Parameter(torch.zeros(d))
        self.block = nn.TransformerEncoderLayer(d, 2, 48, dropout=0.0, batch_first=True)
        self.pixels = nn.Linear(d, PIXELS)

    def forward(self, patches, hidden):
        h = torch.where(hidden[..., None], self.mask_token, self.embed(patches))
        return self.pixels(self.block(h + self.position))


def waves(n):
    phase = 6.28 * torch.rand(n, 1)
    t = torch.linspace(0, 6.2832, PATCHES * PIXELS)
    return torch.sin(t + phase).view(n, PATCHES, PIXELS)


def random_hidden(n):
    return torch.rand(n, PATCHES).argsort(1) < HIDDEN


torch.manual_seed(0)
model = MAE()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(1, 121):
    patches = waves(48)
    hidden = random_hidden(48)
    recon = model(patches, hidden)
    per_patch = F.mse_loss(recon, patches, reduction="none").mean(-1)
    # always 8 of 16 patches are hidden, a mean over all differs by a constant factor only
    loss = (per_patch * hidden).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step} loss {loss.item():.4f}")
