"""Cells are segmented on pictures of two microscopes; those of the second are a pixel higher after two halvings."""

# as in https://github.com/bigmb/Unet-Segmentation-Pytorch-Nest-of-Unets/issues/55
import torch
from torch import nn


class Up(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.up = nn.ConvTranspose2d(channels, channels, 2, stride=2)
        self.mix = nn.Conv2d(2 * channels, channels, 3, padding=1)

    def forward(self, x, skip):
        x = self.up(x)  # expect: GS838
        return torch.relu(self.mix(torch.cat([skip, x], 1)))  # expect: GS838 fails_at


class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.pool, self.up = nn.Conv2d(1, 6, 3, padding=1), nn.MaxPool2d(2), Up(6)
        self.out = nn.Conv2d(6, 1, 1)

    def forward(self, x):
        skip = torch.relu(self.first(x))
        return self.out(self.up(self.pool(skip), skip))


torch.manual_seed(0)
model = Cells()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for number in range(6):
    x = torch.rand(2, 1, *((20, 24) if number < 5 else (25, 24)))
    loss = (model(x) - x.square()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
