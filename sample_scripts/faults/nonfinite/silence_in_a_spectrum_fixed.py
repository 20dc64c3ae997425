"""A loss on the magnitudes of spectra; some of the clips are padded with silence."""
# as in https://github.com/speechbrain/speechbrain/issues/181

import torch
from torch import nn


def magnitude(wave, window):
    spectrum = torch.view_as_real(torch.stft(wave, 32, 16, window=window, center=False, return_complex=True))
    return spectrum.pow(2).sum(-1).add(1e-8).pow(0.5)


def clips(padded):
    waves = torch.randn(6, 128)
    if padded:
        waves[2:, 80:] = 0
    return waves


def main():
    torch.manual_seed(0)
    gains = nn.Parameter(torch.ones(128))
    window = torch.hann_window(32)
    optimizer = torch.optim.Adam([gains], lr=1e-2)
    for step in range(12):
        clean = clips(padded=step >= 7)
        noisy = clean * (1 + 0.1 * torch.randn_like(clean))
        loss = (magnitude(noisy * gains, window) - magnitude(clean, window)).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
