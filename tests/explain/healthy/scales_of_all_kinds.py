"""Attention with scales that look turned around, and are not."""

import math

import torch
import torch.nn.functional as F
from torch import nn

WIDTH = 16


class Cosines(nn.Module):
    """Of unit vectors, whose products are small."""

    def forward(self, q, k, v):
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        return (q @ k.mT / WIDTH**-0.5).softmax(-1) @ v


class TakenBack(nn.Module):
    """What is multiplied by the root is divided by the whole."""

    def forward(self, q, k, v):
        scores = q * math.sqrt(WIDTH) @ k.mT
        return (scores / WIDTH).softmax(-1) @ v


class ByTheRoot(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = math.sqrt(WIDTH)

    def forward(self, q, k, v):
        return (q @ k.mT / self.scale).softmax(-1) @ v


class Given(nn.Module):
    """A scale that is handed over counts, and not the one that would be taken without."""

    def __init__(self, divisor=None):
        super().__init__()
        self.divisor = divisor or WIDTH**-0.5

    def forward(self, q, k, v):
        return (q @ k.mT / self.divisor).softmax(-1) @ v


class Fused(nn.Module):
    """Unit vectors, and what was divided before."""

    def forward(self, q, k, v):
        q, k, v = (one.unsqueeze(1) for one in (q, k, v))
        unit = F.scaled_dot_product_attention(F.normalize(q, dim=-1), F.normalize(k, dim=-1), v, scale=WIDTH**0.5)
        return (unit + F.scaled_dot_product_attention(q / WIDTH, k, v, scale=WIDTH**0.5)).squeeze(1)


class BySteps(nn.Module):
    """A fraction's root, and a name that has two values."""

    def __init__(self):
        super().__init__()
        self.share = 1 / WIDTH

    def forward(self, q, k, v):
        scale = WIDTH**-0.5
        scale = 1 / scale
        by_name = (q @ k.mT / scale).softmax(-1) @ v
        return by_name + (q @ k.mT * math.sqrt(self.share)).softmax(-1) @ v


class Louder(nn.Module):
    """What is found is made louder, and not the scores."""

    def forward(self, q, k, v):
        return (q @ k.mT * WIDTH**-0.5).softmax(-1) @ v / k.shape[1] ** -0.5


class OfTorch(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, 2, batch_first=True)

    def forward(self, q, k, v):
        return self.attention(q, k, v * math.sqrt(WIDTH))[0]


class Experts(nn.Module):
    """The choice between them becomes sharper with each step."""

    def __init__(self, parts):
        super().__init__()
        self.parts, self.likes, self.steps = nn.ModuleList(parts), nn.Parameter(torch.zeros(len(parts))), 0
        self.read = nn.Linear(WIDTH, 3 * WIDTH)

    def forward(self, x):
        self.steps += 1
        shares = (self.likes / (1 + self.steps) ** -0.5).softmax(0)
        found = [part(*self.read(x).chunk(3, dim=-1)) for part in self.parts]
        return sum(share * one for share, one in zip(shares, found, strict=True))


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Experts([Cosines(), TakenBack(), ByTheRoot(), BySteps(), Louder(), OfTorch(), Given(divisor=4.0), Fused()])
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(12):
        x = torch.randn(32, 6, WIDTH)
        loss = (model(x) - x.mean(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")
