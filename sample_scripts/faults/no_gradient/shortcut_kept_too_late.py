"""A convolutional network whose shortcuts are kept after the convolution has run. As in https://github.com/werner-duvaud/muzero-general/issues/89."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.convolution = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        out = self.norm(self.convolution(x))
        shortcut = out
        out = out + shortcut  # expect: GS895
        return torch.relu(out)


class Net(nn.Module):
    def __init__(self, channels=8, depth=4):
        super().__init__()
        self.stem = nn.Conv2d(1, channels, 3, padding=1)
        self.blocks = nn.Sequential(*(Block(channels) for _ in range(depth)))
        self.head = nn.Linear(channels, 3)

    def forward(self, images):
        return self.head(self.blocks(self.stem(images)).mean((2, 3)))


def stripes(n):
    label = torch.randint(0, 3, (n,))
    place = torch.arange(12.0)
    wave = torch.sin(place[None] * (0.4 + 0.5 * label[:, None]) + 6 * torch.rand(n, 1))
    return wave[:, None, :, None] + 0.3 * torch.randn(n, 1, 12, 6), label


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(25):
        images, label = stripes(48)
        loss = nn.functional.cross_entropy(model(images), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")
