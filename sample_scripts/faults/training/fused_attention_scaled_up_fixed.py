"""The fused attention is told to scale its scores by the inverse root of the width. As in https://github.com/esceptico/perceiver-io/issues/9."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Fused(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.scale = math.sqrt(width)
        self.read = nn.Linear(width, 3 * width)

    def forward(self, x):
        queries, keys, values = self.read(x).unsqueeze(1).chunk(3, dim=-1)
        found = F.scaled_dot_product_attention(queries, keys, values, scale=1 / self.scale)
        return found.mean((1, 2))


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Fused()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(12):
        x = torch.randn(32, 6, 16)
        loss = (model(x) - x.mean(1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")
