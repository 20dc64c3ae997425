"""Autoencoder on features with outliers, helper functions, clip_grad_value_ against the spikes.

It is called at the end of the step, after optimizer.step().
"""

import torch
import torch.nn.functional as F
from torch import nn

CLIP = 0.1


def build_model(d):
    enc = nn.Sequential(nn.Linear(d, 16), nn.Tanh(), nn.Linear(16, 4))
    dec = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, d))
    return nn.Sequential(enc, dec)


def load_features(n=256, d=20):
    z = torch.randn(n, 4)
    x = z @ torch.randn(4, d) + 0.1 * torch.randn(n, d)
    outliers = torch.rand(n) < 0.05
    x[outliers] *= 15
    return x


def update(model, optimizer, xb):
    optimizer.zero_grad(set_to_none=True)
    loss = F.mse_loss(model(xb), xb)
    loss.backward()
    nn.utils.clip_grad_value_(model.parameters(), CLIP)
    optimizer.step()
    return loss.detach()


def main():
    torch.manual_seed(0)
    x = load_features()
    model = build_model(x.size(1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    step = 0
    for epoch in range(4):
        perm = torch.randperm(len(x))
        total = 0.0
        for i in range(0, len(x), 32):
            total += update(model, optimizer, x[perm[i : i + 32]])
            step += 1
        print(f"epoch {epoch} step {step} recon {total / 8:.3f}")


if __name__ == "__main__":
    main()
