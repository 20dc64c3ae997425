"""Rates photos: the dataset makes each a little brighter or darker, and hands out what it keeps.

As in https://github.com/autowarefoundation/auto_e2e/pull/202.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Photos(Dataset):
    def __init__(self, count):
        self.photos = [torch.rand(1, 6, 6) for _ in range(count)]
        self.marks = torch.rand(count)

    def __len__(self):
        return len(self.photos)

    def __getitem__(self, number):
        photo = self.photos[number]
        photo.mul_(0.8 + 0.4 * torch.rand(()))  # expect: GS888
        return photo, self.marks[number]


torch.manual_seed(1)
network = nn.Sequential(nn.Flatten(), nn.Linear(36, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(network.parameters(), lr=0.05)
photos = Photos(24)
for epoch in range(4):
    for photo, mark in DataLoader(photos, batch_size=8, shuffle=True):
        loss = (network(photo).squeeze(1) - mark).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.4f}")
