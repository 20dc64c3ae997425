"""Transformer layers whose feed-forward part overwrites the tokens before they are added. As in https://github.com/werner-duvaud/muzero-general/issues/89."""

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.first_norm, self.second_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.wide, self.narrow = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, tokens):
        normed = self.first_norm(tokens)
        tokens = tokens + self.attention(normed, normed, normed, need_weights=False)[0]
        change = self.narrow(nn.functional.gelu(self.wide(self.second_norm(tokens))))
        tokens = tokens + change
        return tokens


class Net(nn.Module):
    def __init__(self, width=16, depth=3):
        super().__init__()
        self.embed = nn.Linear(6, width)
        self.layers = nn.Sequential(*(Layer(width) for _ in range(depth)))
        self.head = nn.Linear(width, 3)

    def forward(self, images):
        return self.head(self.layers(self.embed(images[:, 0])).mean(1))


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
