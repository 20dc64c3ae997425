"""Forecasts of the next value of a series by attention over its past."""

import torch
from torch import nn
from torch.nn import functional as F


class Forecaster(nn.Module):
    def __init__(self, width=16, heads=2):
        super().__init__()
        self.heads = heads
        self.inlet = nn.Linear(1, width)
        self.mix = nn.Linear(width, 3 * width)
        self.outlet = nn.Linear(width, 1)

    def forward(self, series):
        count, length = series.shape
        x = self.inlet(series[..., None]) + torch.linspace(0, 1, length)[:, None]
        q, k, v = (one.unflatten(-1, (self.heads, -1)).transpose(1, 2) for one in self.mix(x).chunk(3, -1))
        later = torch.tril(torch.full((length, length), True))
        seen = F.scaled_dot_product_attention(q, k, v, later.expand(count, 1, -1, -1))
        x = x + seen.transpose(1, 2).flatten(2)
        return self.outlet(torch.tanh(x)).squeeze(-1)


def waves(count, length=15):
    start, speed = torch.rand(count, 1) * 6, 0.3 + torch.rand(count, 1)
    return torch.sin(start + speed * torch.arange(length))


def main():
    torch.manual_seed(2)
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(40):
        series = waves(24)
        error = (model(series[:, :-1]) - series[:, 1:]).pow(2).mean()
        optimizer.zero_grad()
        error.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} error {error.item():.4f}")


if __name__ == "__main__":
    main()
