"""A tower with small weights."""

import torch
from tower import Tower


def main():
    torch.manual_seed(0)
    tower = Tower(depth=10)
    optimizer = torch.optim.Adam(tower.parameters(), lr=1e-3)
    for step in range(5):
        x = torch.randn(16, 8)
        loss = (tower(x) - x.mean(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item())


main()
