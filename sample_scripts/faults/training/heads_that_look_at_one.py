"""Heads whose scores are divided by what they should be multiplied with. As in https://github.com/esceptico/perceiver-io/issues/9."""

import torch
from torch import nn


class Heads(nn.Module):
    def __init__(self, width=16, heads=2):
        super().__init__()
        self.heads = heads
        self.scale = (width // heads) ** -0.5
        self.read, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        parts = self.read(x).view(*x.shape[:2], 3, self.heads, -1)
        queries, keys, values = (part.transpose(1, 2) for part in parts.unbind(2))
        scores = queries @ keys.transpose(-2, -1) / self.scale  # expect: GS848
        found = scores.softmax(-1) @ values
        return self.out(found.transpose(1, 2).flatten(2)).mean(1)


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Heads()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(12):
        x = torch.randn(32, 6, 16)
        loss = (model(x) - x.mean(1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")
