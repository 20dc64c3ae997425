"""Blocks add to what they are given in place, one after the other; a dataset counts and scales copies in place."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x):
        x += torch.tanh(self.layer(x.clone()))
        return x


class Samples(Dataset):
    def __init__(self):
        self.kept, self.asked = torch.randn(24, 6), torch.zeros(24)

    def __len__(self):
        return 24

    def __getitem__(self, number):
        self.asked[number] += 1
        sample = self.kept[number].clone()
        sample.mul_(2.0).sub_(1.0)
        return sample, sample.sum()


torch.manual_seed(0)
network = nn.Sequential(nn.Linear(6, 6), Block(), Block(), nn.Linear(6, 1))
optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
samples = Samples()
for _ in range(3):
    for sample, wanted in DataLoader(samples, batch_size=8):
        loss = (network(sample).squeeze(1) - wanted).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
