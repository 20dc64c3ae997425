"""Denoising conv autoencoder with accumulation written as functions.

The gradients of all micro-batches but the last are thrown away by zero_grad in the inner loop.
"""

import torch
import torch.nn.functional as F
from torch import nn

ACCUM = 4
MICRO = 6
STEPS = 15


def build():
    enc = nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2, padding=1),
        nn.ReLU(),
    )
    dec = nn.Sequential(
        nn.ConvTranspose2d(16, 8, 2, stride=2),
        nn.ReLU(),
        nn.ConvTranspose2d(8, 1, 2, stride=2),
    )
    return nn.Sequential(enc, dec)


def sample_images(n):
    """white squares somewhere on black"""
    img = torch.zeros(n, 1, 16, 16)
    for k in range(n):
        r, c = torch.randint(0, 11, (2,)).tolist()
        img[k, 0, r : r + 5, c : c + 5] = 1.0
    return img


def run_step(net, opt):
    step_loss = 0.0
    opt.zero_grad(set_to_none=False)
    for micro in range(ACCUM):
        clean = sample_images(MICRO)
        noisy = clean + 0.3 * torch.randn_like(clean)
        loss = F.mse_loss(net(noisy), clean)
        (loss / ACCUM).backward()
        step_loss += loss.item() / ACCUM
    opt.step()
    return step_loss


def main():
    torch.manual_seed(0)
    net = build()
    opt = torch.optim.Adam(net.parameters(), lr=8e-3)
    for step in range(STEPS):
        l = run_step(net, opt)
        if step % 5 == 0 or step == STEPS - 1:
            print("step", step, "mse", round(l, 5))


if __name__ == "__main__":
    main()
