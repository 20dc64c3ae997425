"""Leaves, of which a few were photographed in grey: a batch that mixes them cannot be stacked."""

# as in https://github.com/pytorch/pytorch/issues/95917
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Leaves(Dataset):
    def __init__(self, count):
        self.pictures = [torch.randint(256, (1 if i % 19 == 11 else 3, 8, 8)) for i in range(count)]

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, index):
        picture = self.pictures[index]
        return picture.expand(3, 8, 8).float().div(255), index % 2


torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for x, y in DataLoader(Leaves(32), batch_size=4):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
