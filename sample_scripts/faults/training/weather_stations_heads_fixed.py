"""Stations look at each other's readings; what the heads found is put together without turning it back."""

import math

import torch
from torch import nn


class StationAttention(nn.Module):
    def __init__(self, width, heads, dropout=0.1):
        super().__init__()
        self.heads = heads
        self.packed = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.packed(x).chunk(3, dim=-1)
        q = q.reshape(b, t, self.heads, d // self.heads).transpose(1, 2)
        k = k.reshape(b, t, self.heads, d // self.heads).transpose(1, 2)
        v = v.reshape(b, t, self.heads, d // self.heads).transpose(1, 2)
        scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(q.size(-1))
        scores = scores.masked_fill(torch.eye(t, dtype=torch.bool), float("-inf"))
        found = torch.matmul(self.drop(scores.softmax(dim=-1)), v)
        return self.out(found.transpose(1, 2).contiguous().view(b, t, d))


class Forecast(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.embed = nn.Linear(5, width)
        self.look = StationAttention(width, heads=3)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 1)

    def forward(self, readings):
        x = self.embed(readings)
        return self.head(self.norm(x + self.look(x))).squeeze(-1)


def main():
    torch.manual_seed(3)
    model = Forecast()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(6):
        readings = torch.randn(4, 7, 5)
        tomorrow = readings[..., 0].roll(1, dims=1)
        loss = (model(readings) - tomorrow).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
