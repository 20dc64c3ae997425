"""Pictures and masks of a data set of one's own, whose sizes are those of the files."""

# as in https://github.com/milesial/Pytorch-UNet/issues/285
import random

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset


class Masks(Dataset):
    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        height, width = self.files[index]
        picture = torch.linspace(0, 1, height * width).reshape(1, height, width)
        picture = F.interpolate(picture[None], size=(12, 12))[0]
        return {"image": picture, "name": str(index)}


random.seed(0)
torch.manual_seed(0)
sizes = [(random.choice((12, 14)), 12 if number < 8 else 18) for number in range(10)]
net = nn.Conv2d(1, 1, 3, padding=1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loader = DataLoader(Masks(sizes), batch_size=3)
for batch in loader:
    loss = F.binary_cross_entropy_with_logits(net(batch["image"]), (batch["image"] > 0.5).float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
