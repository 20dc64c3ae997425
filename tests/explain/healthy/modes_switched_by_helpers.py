"""Helpers that only switch modes are called around each validation; the last one is left at rest for what comes after.

A frozen part is put to rest by the model's own train(), and stays so on purpose.
"""

import torch
from torch import nn


class Sorter(nn.Module):
    def __init__(self):
        super().__init__()
        self.eyes = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU())
        self.hand = nn.Sequential(nn.Dropout(0.2), nn.Linear(12, 3))
        self.eyes.requires_grad_(False)

    def train(self, mode=True):
        super().train(mode)
        self.eyes.eval()
        return self

    def forward(self, x):
        return self.hand(self.eyes(x))


def rest(*models):
    for model in models:
        model.eval()


def wake(*models):
    for model in models:
        model.train()


torch.manual_seed(0)
sorter, judge = Sorter(), nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.1), nn.Linear(8, 1))
optimizer = torch.optim.Adam([*sorter.hand.parameters(), *judge.parameters()], lr=0.01)
for epoch in range(4):
    wake(sorter, judge)
    for _ in range(4):
        x = torch.randn(16, 6)
        kinds = sorter(x)
        loss = nn.functional.cross_entropy(kinds, x.argmax(1) % 3) + judge(kinds).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    rest(sorter, judge)
    with torch.no_grad():
        print(epoch, judge(sorter(torch.randn(16, 6))).mean().item())
