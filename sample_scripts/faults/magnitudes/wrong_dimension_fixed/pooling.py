"""Pools a sequence by learned weights."""

import torch
from torch import nn


class AttentionPool(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.score = nn.Linear(width, 1)

    def forward(self, x):
        scores = self.score(x)
        weights = torch.softmax(scores, dim=1)
        return (weights * x).sum(1)
