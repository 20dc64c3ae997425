"""VICReg-like siamese training of tabular rows, both sides of the symmetric mse are meant to have gradients."""

import torch
import torch.nn.functional as F
from torch import nn


def rows(n, d=12):
    latent = torch.randn(n, 3)
    return torch.tanh(latent @ torch.linspace(-1, 1, 3 * d).view(3, d).cos())


def corrupt(x, rate=0.3):
    drop = torch.rand_like(x) < rate
    return torch.where(drop, x[torch.randperm(len(x))], x)


def variance(z):
    return F.relu(1 - torch.sqrt(z.var(0) + 1e-4)).mean()


def covariance(z):
    z = z - z.mean(0)
    cov = z.T @ z / (len(z) - 1)
    return (cov - torch.diag(cov.diagonal())).pow(2).sum() / z.size(1)


def vicreg(za, zb):
    similarity = F.mse_loss(za, zb)
    spread = variance(za) + variance(zb)
    decorrelation = covariance(za) + covariance(zb)
    return 25 * similarity + 25 * spread + decorrelation, similarity


def main():
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(12, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 8))
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=5e-3)
    for step in range(1, 61):
        x = rows(128)
        loss, similarity = vicreg(encoder(corrupt(x)), encoder(corrupt(x)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 15 == 0:
            print(f"step {step} loss {loss.item():.3f} similarity {similarity.item():.4f}")


if __name__ == "__main__":
    main()
