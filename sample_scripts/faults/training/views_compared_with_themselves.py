"""Two views of each sample find each other among all, and themselves. As in https://github.com/Lightning-Universe/lightning-bolts/issues/695."""

import torch
import torch.nn.functional as F
from torch import nn


def contrast(first, second, temperature=0.2):
    both = torch.cat([first, second])
    likeness = both @ both.T / temperature  # expect: GS760
    partner = (torch.arange(len(both)) + len(first)) % len(both)
    return F.cross_entropy(likeness, partner)


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
