"""One class serves an encoder and a decoder: in the encoder its second normalisation rests."""

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mixes = nn.Linear(width, width)
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(2)])

    def forward(self, x, memory=None):
        x = x + self.mixes(self.norms[0](x))
        return x if memory is None else x + self.norms[1](memory)


class Translation(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.ModuleList([Layer(8), Layer(8)])
        self.decoder = nn.ModuleList([Layer(8), Layer(8)])
        self.head = nn.Linear(8, 3)

    def forward(self, x, y):
        for layer in self.encoder:
            x = layer(x)
        for layer in self.decoder:
            y = layer(y, x)
        return self.head(y)


torch.manual_seed(0)
model = Translation()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(12):
    x = torch.randn(16, 8)
    loss = nn.functional.cross_entropy(model(x, x.flip(1)), x[:, :3].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item() > 0)
