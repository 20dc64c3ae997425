"""Finds bright spots: masks come from pictures whose pixels are 0 or 255.

As in https://github.com/pytorch/pytorch/issues/110865.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Spots(Dataset):
    def __len__(self):
        return 48

    def __getitem__(self, number):
        torch.manual_seed(number)
        picture = torch.rand(1, 12, 12)
        mask = (picture > 0.8).to(torch.uint8) * 255
        return picture, mask.float()


class Trainer:
    def __init__(self, network):
        self.network = network
        self.criterion = nn.BCEWithLogitsLoss()
        self.optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)

    def epoch(self, loader):
        for picture, mask in loader:
            loss = self.criterion(self.network(picture), mask / 255)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()


torch.manual_seed(1)
trainer = Trainer(nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 1)))
for _ in range(3):
    print(f"{trainer.epoch(DataLoader(Spots(), batch_size=12)):.2f}")
