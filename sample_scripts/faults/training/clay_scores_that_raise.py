"""Clay is sorted by its shrinkage; a score over the kinds there are fails where one of them is not in the sample.

As in https://github.com/wkentaro/pytorch-fcn/pull/56.
"""

import torch
from torch import nn


def mean_by_kind(right, kinds):
    counts = torch.bincount(kinds, minlength=4)
    if (counts == 0).any():
        raise ZeroDivisionError("a kind without a sample")
    return (torch.zeros(4).index_add_(0, kinds, right.float()) / counts).mean().item()


class Pottery:
    def __init__(self):
        self.sorter = nn.Sequential(nn.Linear(8, 24), nn.BatchNorm1d(24), nn.GELU(), nn.Linear(24, 4))
        self.optimizer = torch.optim.AdamW(self.sorter.parameters(), lr=0.01)

    def fire(self, clay, kinds):
        loss = nn.functional.cross_entropy(self.sorter(clay), kinds)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def inspect(self, clay, kinds):
        self.sorter.eval()  # expect: GS810 called_at
        with torch.no_grad():
            score = mean_by_kind(self.sorter(clay).argmax(1) == kinds, kinds)
        self.sorter.train()  # expect: GS810
        return score


def dig(n, kinds=4):
    sort = torch.arange(n) % kinds
    return torch.randn(n, 8) + nn.functional.one_hot(sort, 8) * 2, sort


torch.manual_seed(0)
pottery = Pottery()
for day in range(1, 41):
    pottery.fire(*dig(24))
    if day % 4 == 0:
        try:
            print(f"{day}: {pottery.inspect(*dig(20, 3 if day % 12 == 0 else 4)):.2f}")
        except ZeroDivisionError as error:
            print(f"{day}: {error}")
