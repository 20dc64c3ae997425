"""Sparse marks of a spectrum: after each epoch all weights are drawn towards zero by a shrinkage of their own.

As in https://github.com/YU1ut/MixMatch-pytorch/pull/23, of a shrinkage.
"""

import torch
from torch import nn


class Marks(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(30, 20), nn.Linear(20, 2)

    def forward(self, spectrum):
        return self.last(torch.relu(self.first(spectrum)))

    @torch.no_grad()
    def shrink(self, by):
        for name, weight in self.named_parameters():
            if name.endswith("weight"):
                weight.copy_(weight.sign() * (weight.abs() - by).clamp_min(0))


def main():
    torch.manual_seed(0)
    marks, true = Marks(), torch.randn(30)
    optimizer = torch.optim.Adam(marks.parameters(), lr=5e-3)
    for epoch in range(5):
        for _ in range(8):
            spectrum = torch.randn(32, 30)
            loss = nn.functional.cross_entropy(marks(spectrum), (spectrum @ true > 0).long())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        marks.shrink(1e-3)
        print(f"{epoch}: {loss.item():.4f}")


main()
