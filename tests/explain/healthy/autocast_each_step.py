"""Diffusion of two moons in mixed precision, an autocast context for each step and one for the sampling."""

import math

import torch
import torch.nn.functional as F
from torch import nn

T = 16
BETAS = torch.linspace(1e-3, 0.3, T)
ALPHA_BAR = torch.cumprod(1 - BETAS, 0)


def moons(n):
    angle = math.pi * torch.rand(n)
    side = torch.randint(0, 2, (n,)).float()
    x = angle.cos() * (1 - 2 * side) + side - 0.5
    y = angle.sin() * (1 - 2 * side) + 0.25 * (2 * side - 1)
    return torch.stack([x, y], 1) + 0.05 * torch.randn(n, 2)


class Denoiser(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(3, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2)
        )

    def forward(self, x, t):
        return self.net(torch.cat([x, t[:, None] / T], 1))


class Diffusion:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def step(self, x0):
        t = torch.randint(0, T, (len(x0),))
        noise = torch.randn_like(x0)
        keep = ALPHA_BAR[t, None]
        with torch.autocast("cpu", torch.bfloat16):
            loss = F.mse_loss(self.model(keep.sqrt() * x0 + (1 - keep).sqrt() * noise, t).float(), noise)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def sample(self, n):
        x = torch.randn(n, 2)
        with torch.autocast("cpu", torch.bfloat16):
            for t in reversed(range(T)):
                eps = self.model(x, torch.full((n,), t)).float()
                x = (x - BETAS[t] / (1 - ALPHA_BAR[t]).sqrt() * eps) / (1 - BETAS[t]).sqrt()
                x = x + (t > 0) * BETAS[t].sqrt() * torch.randn_like(x)
        return x


torch.manual_seed(0)
diffusion = Diffusion(Denoiser())
for i in range(1, 101):
    loss = diffusion.step(moons(128))
    if i % 25 == 0:
        print(f"step {i} loss {loss:.4f} spread of samples {diffusion.sample(64).std():.3f}")
