"""A contrastive loss by hand, with the temperature in each exponential. As in https://github.com/RElbers/info-nce-pytorch/pull/17."""

import torch
import torch.nn.functional as F
from torch import nn


def nt_xent(first, second, temperature=0.2):
    pair = F.cosine_similarity(first, second) / temperature
    near = torch.exp(pair)
    first, second = F.normalize(first, dim=1), F.normalize(second, dim=1)
    scores = first @ second.T / temperature
    far = torch.exp(scores.masked_fill(torch.eye(len(first), dtype=torch.bool), -1e4)).sum(1)
    return -torch.log(near / (near + far)).mean()


if __name__ == "__main__":
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 8))
    optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-2)
    for _ in range(12):
        x = torch.randn(32, 10)
        loss = nt_xent(encoder(x), encoder(x + 0.1 * torch.randn(32, 10)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")
