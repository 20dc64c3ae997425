"""Tiny DDPM on a ring of points that samples nothing but a cloud although it trained for long in mixed precision."""

import torch
import torch.nn.functional as F
from torch import nn

T = 20
BETAS = torch.linspace(1e-3, 0.25, T)
ALPHA_BAR = torch.cumprod(1 - BETAS, 0)


class NoisePredictor(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.time = nn.Embedding(T, width)
        self.inp = nn.Linear(2, width)
        self.mid = nn.Linear(width, width)
        self.out = nn.Linear(width, 2)

    def forward(self, x, t):
        h = F.silu(self.inp(x) + self.time(t))
        return self.out(F.silu(self.mid(h)))


def ring(n):
    angle = 6.2832 * torch.rand(n)
    return torch.stack([angle.cos(), angle.sin()], 1)


def denoising_loss(model, x0):
    t = torch.randint(0, T, (len(x0),))
    noise = torch.randn_like(x0)
    keep = ALPHA_BAR[t, None]
    return F.mse_loss(model(keep.sqrt() * x0 + (1 - keep).sqrt() * noise, t), noise)


@torch.autocast("cpu", dtype=torch.bfloat16)  # expect: GS825
def train(model, optimizer, steps):
    for step in range(1, steps + 1):
        loss = denoising_loss(model, ring(128))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 30 == 0:
            print(f"step {step} loss {loss.item():.4f}")


@torch.no_grad()
def sample(model, n=256):
    x = torch.randn(n, 2)
    for t in reversed(range(T)):
        eps = model(x, torch.full((n,), t))
        x = (x - BETAS[t] / (1 - ALPHA_BAR[t]).sqrt() * eps) / (1 - BETAS[t]).sqrt()
        if t > 0:
            x = x + BETAS[t].sqrt() * torch.randn_like(x)
    return x


if __name__ == "__main__":
    torch.manual_seed(0)
    net = NoisePredictor()
    train(net, torch.optim.AdamW(net.parameters(), lr=3e-3), steps=120)
    radius = sample(net).norm(dim=1)
    print(f"radius of the samples {radius.mean():.2f} +- {radius.std():.2f}")
