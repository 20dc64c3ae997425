"""A learned question looks at a set: its scores are divided by the root of the width. As in https://github.com/esceptico/perceiver-io/issues/9."""

import math

import torch
from torch import nn


class Pooling(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.question = nn.Parameter(torch.randn(1, width))
        self.key, self.value = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        width = x.shape[-1]
        scores = torch.matmul(self.question, self.key(x).transpose(1, 2)) / math.sqrt(width)
        scores = scores.masked_fill(x[:, None, :, 0] > 1.5, -1e4)
        return (torch.softmax(scores, dim=-1) @ self.value(x)).squeeze(1)


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Pooling()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(12):
        x = torch.randn(32, 6, 16)
        loss = (model(x) - x.mean(1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")
