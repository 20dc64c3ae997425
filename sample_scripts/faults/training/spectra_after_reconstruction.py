"""Spectra are reconstructed first, with an optimizer of that stage; then drawn to centers, which the next one lacks.

As in https://github.com/hunto/DiffKD/issues/8.
"""

import torch
from torch import nn


class Centers(nn.Module):
    def __init__(self, kinds, size):
        super().__init__()
        self.places = nn.Parameter(torch.randn(kinds, size))
        self.scale = nn.Linear(size, size)

    def forward(self, codes, kind):
        return nn.functional.cross_entropy(-torch.cdist(self.scale(codes), self.places), kind)


def reconstruct(encoder, decoder, spectra):
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
    for batch in spectra:
        optimizer.zero_grad()
        (decoder(encoder(batch)) - batch).square().mean().backward()
        optimizer.step()


def sort(encoder, centers, spectra, kinds):
    optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-2)  # expect: GS817
    for batch, kind in zip(spectra, kinds, strict=True):
        loss = centers(encoder(batch), kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
spectra, kinds = torch.randn(12, 16, 20), torch.randint(4, (12, 16))
encoder = nn.Sequential(nn.Linear(20, 16), nn.GELU(), nn.Linear(16, 6))
decoder = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Linear(16, 20))
reconstruct(encoder, decoder, spectra)
print(f"{sort(encoder, Centers(4, 6), spectra, kinds):.3f}")
