"""Attention by relative places: scores are shifted against each other by a column more and a view, in two forms."""

import torch
from torch import nn

STEPS, SIZE, HEADS = 9, 6, 2


def by_rows(scores):
    many, places = scores.shape[:2]
    padded = torch.cat([scores.new_zeros(many, 1, *scores.shape[2:]), scores], 1)
    return padded.view(places + 1, many, *scores.shape[2:])[1:].view_as(scores)


def by_columns(scores):
    groups, heads, many, places = scores.shape
    padded = torch.cat([scores.new_zeros(groups, heads, many, 1), scores], -1)
    turned = padded.view(groups, heads, places + 1, many)
    return turned[:, :, 1:].view(groups, heads, many, places)


class Relative(nn.Module):
    def __init__(self, shift):
        super().__init__()
        self.asks, self.places, self.shift = (
            nn.Linear(SIZE, SIZE * HEADS),
            nn.Parameter(torch.randn(STEPS, SIZE)),
            shift,
        )

    def forward(self, x):
        asks = self.asks(x).unflatten(-1, (HEADS, SIZE))
        if self.shift is by_rows:
            weights = self.shift(torch.einsum("bihd,jd->ijbh", asks, self.places)).softmax(1)
            return torch.einsum("ijbh,bjd->bid", weights, x)
        weights = self.shift(torch.einsum("bihd,jd->bhij", asks, self.places)).softmax(-1)
        return torch.einsum("bhij,bjd->bid", weights, x)


torch.manual_seed(0)
layers = nn.Sequential(Relative(by_rows), Relative(by_columns), nn.Linear(SIZE, 1))
optimizer = torch.optim.Adam(layers.parameters(), lr=1e-2)
for step in range(24):
    x = torch.randn(8, STEPS, SIZE)
    loss = (layers(x)[..., 0] - x.sum(-1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 8 == 0:
        print(f"{step}: {loss.item():.4f}")
