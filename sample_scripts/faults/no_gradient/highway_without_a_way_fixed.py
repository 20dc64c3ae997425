"""A deep perceptron; the helper that adds gets the layer's result twice. As in https://github.com/werner-duvaud/muzero-general/issues/89."""

import torch
from torch import nn


def merge(skipped, computed):
    return skipped + computed


class Net(nn.Module):
    def __init__(self, width=24, depth=5):
        super().__init__()
        self.inward, self.head = nn.Linear(72, width), nn.Linear(width, 3)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))

    def forward(self, images):
        h = torch.tanh(self.inward(images.flatten(1)))
        for layer in self.layers:
            h = merge(h, torch.tanh(layer(h)))
        return self.head(h)


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
