"""How loud each band of a sound is, is compared in torch."""

import torch
from torch import nn


class BandDistance:
    def __init__(self, bands):
        self.bands = bands

    def loudness(self, sound):
        power = torch.fft.rfft(sound, dim=1).abs().square()
        return [(part.mean() + 1e-6).log() for part in power.tensor_split(self.bands, dim=1)]

    def __call__(self, made, wanted):
        heard = self.loudness(made)
        meant = self.loudness(wanted)
        gaps = [abs(one - other) for one, other in zip(heard, meant, strict=True)]
        return sum(gaps) / self.bands


def sounds(count):
    time = torch.linspace(0, 1, 64)
    pitch = torch.rand(count, 1) * 8 + 2
    clean = torch.sin(6.28 * pitch * time)
    return clean + 0.4 * torch.randn_like(clean), clean


if __name__ == "__main__":
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 48), nn.GELU(), nn.Linear(48, 64))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    distance = BandDistance(4)
    for _ in range(60):
        noisy, clean = sounds(24)
        made = model(noisy)
        shape = (made - clean).abs().mean()
        bands = distance(made, clean)
        loss = shape + 0.2 * bands
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"shape {shape.item():.3f} bands {bands.item():.3f}")
