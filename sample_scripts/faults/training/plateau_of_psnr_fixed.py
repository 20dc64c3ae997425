"""A denoiser's schedule is stepped with the PSNR of its validation."""

# as in https://github.com/eecn/Hyperspectral-Classification/issues/19
import math

import torch
from torch import nn, optim


@torch.no_grad()
def psnr(net, noisy, clean):
    return -10 * math.log10(nn.functional.mse_loss(net(noisy), clean).item())


torch.manual_seed(0)
clean = torch.rand(8, 1, 12, 12)
noisy = clean + 0.2 * torch.randn_like(clean)
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
optimizer = optim.Adam(net.parameters(), lr=3e-3)
plateau = optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=2)
for _ in range(10):
    loss = nn.functional.l1_loss(net(noisy), clean)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    plateau.step(-psnr(net, noisy, clean))
