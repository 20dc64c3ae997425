"""A map of cells begins with two columns of the data, over whose memory it lies. As in https://github.com/cornellius-gp/gpytorch/issues/2302."""

import torch
from torch import nn


class Map(nn.Module):
    def __init__(self, cells):
        super().__init__()
        self.points = nn.Parameter(cells[:, :2])  # expect: GS829

    def forward(self, rows):
        return self.points[rows]


def stress(points, cells):
    return (torch.cdist(points, points) - torch.cdist(cells, cells)).square().mean()


if __name__ == "__main__":
    torch.manual_seed(0)
    cells = torch.randn(80, 6)
    layout = Map(cells)
    optimizer = torch.optim.Adam(layout.parameters(), lr=0.02)
    for _ in range(12):
        rows = torch.randperm(len(cells))[:32]
        loss = stress(layout(rows), cells[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"stress {loss.item():.3f}")
