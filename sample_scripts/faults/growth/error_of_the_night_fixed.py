"""A model of the water level in a well; the error of each night is summed up from its hours, and begins anew.

As in https://github.com/google/brax/pull/152.
"""

import torch
from torch import nn


def one_hour(level):
    rain = torch.rand(16, 3)
    return torch.cat([level, rain], 1), 0.9 * level + rain.sum(1, keepdim=True)


def main():
    torch.manual_seed(0)
    well = nn.Sequential(nn.Linear(4, 12), nn.Tanh(), nn.Linear(12, 1))
    optimizer = torch.optim.Adam(well.parameters(), lr=0.01)
    for night in range(3):
        error = 0
        for _ in range(22):
            seen, follows = one_hour(torch.rand(16, 1))
            loss = (well(seen) - follows).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            error += loss.item()
        print(f"night {night}: {error / 22:.4f}")


main()
