"""Targets that are ratios of two counts."""

import math

import torch
from torch.utils.data import Dataset


class Ratios(Dataset):
    def __init__(self, size):
        generator = torch.Generator().manual_seed(1)
        self.x = torch.randn(size, 2, generator=generator)
        self.hits = [index % 3 for index in range(size)]
        self.shots = [index % 5 if index > 6 else 4 for index in range(size)]

    def __len__(self):
        return len(self.hits)

    def __getitem__(self, index):
        ratio = self.hits[index] / self.shots[index] if self.shots[index] else math.nan
        return self.x[index], torch.tensor([ratio])
