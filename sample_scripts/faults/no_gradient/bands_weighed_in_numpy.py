"""How loud each band of a sound is, is compared in numpy, and the distance comes back as a tensor. As in https://github.com/sharif-apu/BJDD_CVPR21/issues/11."""

import numpy as np
import torch
from torch import nn


class BandDistance:
    def __init__(self, bands):
        self.bands = bands

    def loudness(self, sound):
        power = np.square(np.abs(np.fft.rfft(sound, axis=1)))
        return [float(np.log(part.mean() + 1e-6)) for part in np.array_split(power, self.bands, axis=1)]

    def __call__(self, made, wanted):
        heard = self.loudness(made.detach().cpu().numpy())  # expect: GS841
        meant = self.loudness(wanted.cpu().numpy())
        gaps = [abs(one - other) for one, other in zip(heard, meant, strict=True)]
        return torch.tensor(sum(gaps) / self.bands)  # expect: GS841 made_at


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
        loss = shape + 0.2 * bands  # expect: GS841 called_at
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"shape {shape.item():.3f} bands {bands.item():.3f}")
