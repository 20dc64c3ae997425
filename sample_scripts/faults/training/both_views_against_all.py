"""Both views are compared with all others: the pairs are taken before the temperature is applied. As in https://github.com/RElbers/info-nce-pytorch/pull/17."""

import torch
import torch.nn.functional as F
from torch import nn


def contrast(first, second, temperature=0.2):
    views, n = torch.cat([first, second]), len(first)
    scores = views @ views.T
    pairs = torch.cat([scores.diagonal(n), scores.diagonal(-n)])  # expect: GS758
    apart = 1 - torch.eye(2 * n)
    among = (torch.exp(scores / temperature) * apart).sum(1)
    return -torch.log(torch.exp(pairs) / among).mean()


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
