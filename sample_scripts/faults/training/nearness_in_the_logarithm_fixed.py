"""The logarithm of a sum: the pair in it and the others have one temperature. As in https://github.com/RElbers/info-nce-pytorch/pull/17."""

import torch
import torch.nn.functional as F
from torch import nn


def contrast(first, second, temperature=0.2):
    near = torch.einsum("ij,ij->i", first, second) / temperature
    others = first @ second.roll(1, 0)[:12].T
    others = others / temperature
    return (torch.log(near.exp() + others.exp().sum(1)) - near).mean()


if __name__ == "__main__":
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 8))
    optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-2)
    for _ in range(12):
        x = torch.randn(24, 10)
        first, second = (F.normalize(encoder(x + 0.1 * torch.randn(24, 10)), dim=1) for _ in range(2))
        loss = contrast(first, second)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")
