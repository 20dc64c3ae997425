"""A layer that multiplies block by block into a buffer of its own.

As in https://github.com/pytorch/pytorch/issues/53348.
"""

import torch
from torch import nn


class Blocks(nn.Module):
    def __init__(self, heads, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(heads, width, width) / width**0.5)

    def forward(self, x):
        product = torch.zeros_like(x, requires_grad=True)  # expect: GS703
        for head, weight in enumerate(self.weight):
            product[:, head] = x[:, head] @ weight  # expect: GS703 modified_at
        return product


def main():
    torch.manual_seed(0)
    blocks, head = Blocks(3, 4), nn.Linear(12, 2)
    optimizer = torch.optim.Adam([*blocks.parameters(), *head.parameters()], lr=0.01)
    for step in range(10):
        x = torch.randn(16, 3, 4)
        loss = nn.functional.cross_entropy(head(blocks(x).flatten(1)), (x[:, 0, 0] > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{step}: {loss.item():.4f}")


main()
