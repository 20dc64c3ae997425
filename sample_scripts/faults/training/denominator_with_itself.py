"""A contrastive loss by hand, whose denominator sums up a whole row. As in https://github.com/Lightning-Universe/lightning-bolts/issues/695."""

import torch
import torch.nn.functional as F
from torch import nn


def contrast(first, second, temperature=0.2):
    both = torch.cat([first, second], dim=0)
    likeness = torch.matmul(both, both.transpose(0, 1))  # expect: GS760
    below = torch.exp(likeness / temperature).sum(1)
    positive = (first * second).sum(1).repeat(2) / temperature
    return (below.log() - positive).mean()


if __name__ == "__main__":
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8))
    optimizer = torch.optim.Adam(encoder.parameters(), lr=3e-3)
    for _ in range(40):
        seen = torch.randn(32, 8)
        views = [F.normalize(encoder(seen + 0.3 * torch.randn(32, 8)), dim=1) for _ in range(2)]
        loss = contrast(*views)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")
