"""Masked-frame model over variable length motion clips, rotary positions with learned frequencies.

As in https://github.com/lucidrains/rotary-embedding-torch/issues/18.
"""

import torch
import torch.nn.functional as F
from torch import nn


class RotaryPositions(nn.Module):
    """Rotation angles per position; tables are kept per clip length."""

    def __init__(self, dim, theta=200.0, learned=True):
        super().__init__()
        freqs = theta ** (-torch.arange(0, dim, 2) / dim)
        self.freqs = nn.Parameter(freqs, requires_grad=learned)
        self.reuse = not learned
        self.tables = {}

    def table(self, length):
        if self.reuse and length in self.tables:
            return self.tables[length]
        positions = torch.arange(length, dtype=self.freqs.dtype)
        angles = torch.outer(positions, self.freqs)
        pair = angles.cos(), angles.sin()
        if self.reuse:
            self.tables[length] = pair
        return pair

    def forward(self, x):
        cos, sin = self.table(x.shape[-2])
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


class Block(nn.Module):
    def __init__(self, width, heads, rotary):
        super().__init__()
        self.heads = heads
        self.rotary = rotary
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.proj = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(self.rotary(q), self.rotary(k), v)
        x = x + self.proj(out.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class FrameModel(nn.Module):
    def __init__(self, channels, width=48, heads=4, depth=2):
        super().__init__()
        self.lift = nn.Linear(channels, width)
        self.mask_token = nn.Parameter(torch.randn(width) * 0.02)
        rotary = RotaryPositions(width // heads)
        self.blocks = nn.ModuleList(Block(width, heads, rotary) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, channels)

    def forward(self, frames, masked):
        x = torch.where(masked.unsqueeze(-1), self.mask_token, self.lift(frames))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class ClipLoader:
    """Batches of clips bucketed by length; every batch holds a single length."""

    def __init__(self, channels, seed, shortest=20, longest=90):
        self.channels = channels
        self.range = (shortest, longest)
        self.g = torch.Generator().manual_seed(seed)

    def batch(self, size):
        length = int(torch.randint(*self.range, (1,), generator=self.g))
        t = torch.arange(length).view(1, length, 1)
        speed = 0.1 + 0.3 * torch.rand(size, 1, self.channels, generator=self.g)
        phase = 6.283 * torch.rand(size, 1, self.channels, generator=self.g)
        frames = torch.sin(speed * t + phase)
        masked = torch.rand(size, length, generator=self.g) < 0.25
        masked[:, 0] = True
        return frames, masked


def train(steps=14, batch=16, channels=6):
    torch.manual_seed(13)
    loader = ClipLoader(channels, seed=17)
    model = FrameModel(channels)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step in range(1, steps + 1):
        frames, masked = loader.batch(batch)
        predicted = model(frames, masked)
        loss = F.smooth_l1_loss(predicted[masked], frames[masked])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"step {step:4d} length {frames.shape[1]:3d} loss {loss.item():.4f}")
    return model


if __name__ == "__main__":
    train()
