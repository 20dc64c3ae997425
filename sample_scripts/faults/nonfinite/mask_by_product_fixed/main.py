"""Training of a small scorer; the scores are masked in masks.py."""

import torch
from masks import additive_mask
from torch import nn


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x, keep):
        scores = self.layer(x).squeeze(-1) + additive_mask(keep)
        return torch.log_softmax(scores, dim=-1)


def main():
    torch.manual_seed(0)
    scorer = Scorer()
    optimizer = torch.optim.SGD(scorer.parameters(), lr=0.1)
    for step in range(3):
        x, keep = torch.randn(2, 5, 4), torch.ones(2, 5)
        keep[:, 3:] = 0
        loss = -scorer(x, keep)[:, 0].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item())


main()
