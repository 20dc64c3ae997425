"""Codes voices by a recurrent network; the draw and the divergence are methods.

As in https://github.com/rachtsingh/ibp_vae/issues/3.
"""

import torch
from torch import nn


class Voices(nn.Module):
    def __init__(self, bands=5, width=12, code=4):
        super().__init__()
        self.hears = nn.GRU(bands, width, batch_first=True)
        self.mean, self.spread = nn.Linear(width, code), nn.Linear(width, code)
        self.says = nn.Linear(code, bands)

    def draw(self, mu, logvar):
        noise = torch.empty_like(mu).normal_()
        return noise.mul(logvar.exp()).add(mu)  # expect: GS884

    def divergence(self, mu, logvar):
        return 0.5 * torch.sum(logvar.exp() + mu**2 - logvar - 1, dim=1).mean()

    def forward(self, sound):
        heard = self.hears(sound)[0][:, -1]
        mu, logvar = self.mean(heard), self.spread(heard)
        return self.says(self.draw(mu, logvar)), self.divergence(mu, logvar)


torch.manual_seed(1)
voices = Voices()
optimizer = torch.optim.Adam(voices.parameters(), lr=1e-2)
for step in range(12):
    sound = torch.randn(24, 7, 5)
    said, divergence = voices(sound)
    loss = (said - sound.mean(1)).square().sum(1).mean() + 0.1 * divergence
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.2f}")
