"""Tiny neural audio codec: 1-d conv encoder, residual vector quantiser, decoder.

As in https://github.com/facebookresearch/encodec/issues/25.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


def make_clips(n, length, generator):
    t = torch.arange(length) / length
    freqs = 2 + 14 * torch.rand(n, 3, 1, generator=generator)
    phase = 2 * math.pi * torch.rand(n, 3, 1, generator=generator)
    amps = 0.3 + torch.rand(n, 3, 1, generator=generator)
    wave = (amps * torch.sin(2 * math.pi * freqs * t + phase)).sum(1)
    return wave.unsqueeze(1) / wave.abs().amax(-1, keepdim=True).unsqueeze(1)


class CodebookLayer(nn.Module):
    """One stage of nearest-neighbour quantisation with a learned codebook."""

    def __init__(self, codes, dim):
        super().__init__()
        self.embed = nn.Parameter(torch.randn(codes, dim) * 0.3)

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        dist = (
            flat.detach().pow(2).sum(1, keepdim=True)
            - 2 * flat.detach() @ self.embed.detach().t()
            + self.embed.detach().pow(2).sum(1)
        )
        index = dist.argmin(1)
        codes = F.embedding(index, self.embed).view_as(x)
        commit = F.mse_loss(x, codes.detach())
        codebook = F.mse_loss(codes, x.detach())
        quantized = x + (codes - x).detach()
        return quantized, commit, codebook


class ResidualQuantizer(nn.Module):
    def __init__(self, stages, codes, dim):
        super().__init__()
        self.stages = nn.ModuleList(CodebookLayer(codes, dim) for _ in range(stages))

    def forward(self, x):
        residual = x
        total = torch.zeros_like(x)
        commits, codebooks = [], []
        for stage in self.stages:
            quantized, commit, codebook = stage(residual)
            residual = residual - quantized  # expect: GS722
            total = total + quantized
            commits.append(commit)
            codebooks.append(codebook)
        return total, torch.stack(commits), torch.stack(codebooks)


class Codec(nn.Module):
    def __init__(self, width=24, dim=8, stages=4, codes=32):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(1, width, 7, stride=2, padding=3),
            nn.ELU(),
            nn.Conv1d(width, width, 7, stride=2, padding=3),
            nn.ELU(),
            nn.Conv1d(width, dim, 3, padding=1),
        )
        self.quantizer = ResidualQuantizer(stages, codes, dim)
        self.decoder = nn.Sequential(
            nn.Conv1d(dim, width, 3, padding=1),
            nn.ELU(),
            nn.ConvTranspose1d(width, width, 4, stride=2, padding=1),
            nn.ELU(),
            nn.ConvTranspose1d(width, 1, 4, stride=2, padding=1),
        )

    def forward(self, wave):
        latent = self.encoder(wave).transpose(1, 2)
        quantized, commits, codebooks = self.quantizer(latent)
        return self.decoder(quantized.transpose(1, 2)), commits, codebooks


def train(steps=8, batch=16, length=256, commit_weight=1.0):
    torch.manual_seed(7)
    generator = torch.Generator().manual_seed(11)
    model = Codec()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(1, steps + 1):
        wave = make_clips(batch, length, generator)
        recon, commits, codebooks = model(wave)
        recon_loss = F.l1_loss(recon, wave)
        loss = recon_loss + commit_weight * commits.sum() + codebooks.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            per_stage = " ".join(f"{c:.4f}" for c in commits.tolist())
            print(f"step {step:4d} recon {recon_loss.item():.4f} commit [{per_stage}]")
    return model


if __name__ == "__main__":
    train()
