"""Three weavers learn one pattern; the worst takes over a copy of the best's weights, and keeps its own optimizer."""
# as in https://github.com/pytorch/pytorch/issues/54765

from copy import deepcopy

import torch
from torch import nn


def pattern(threads):
    return torch.stack([threads[:, 0] * threads[:, 1], threads[:, 2].sin()], dim=1)


def weave(loom, optimizer, threads):
    loss = nn.functional.smooth_l1_loss(loom(threads), pattern(threads))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # expect: GS727 fails_at
    return loss.item()


def main():
    torch.manual_seed(4)
    looms = {name: nn.Sequential(nn.Linear(3, 14), nn.Tanh(), nn.Linear(14, 2)) for name in ("oak", "ash", "elm")}
    optimizers = {
        name: torch.optim.Adam(loom.parameters(), lr=rate)
        for (name, loom), rate in zip(looms.items(), (1e-2, 4e-3, 2e-4), strict=True)
    }
    for round_ in range(36):
        threads = torch.randn(20, 3)
        losses = {name: weave(looms[name], optimizers[name], threads) for name in looms}
        if round_ == 11:
            best, worst = min(losses, key=losses.get), max(losses, key=losses.get)
            looms[worst] = deepcopy(looms[best])  # expect: GS727


if __name__ == "__main__":
    main()
