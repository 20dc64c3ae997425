"""Heads that are split and merged soundly in many ways, and views that only look like such a split."""

import torch
import torch.nn.functional as F
from torch import nn

WIDTH, HEADS = 12, 3
SIZE = WIDTH // HEADS


class Projected(nn.Module):
    """Three projections, and one of the result."""

    def __init__(self, keys=WIDTH):
        super().__init__()
        self.query, self.key, self.value = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, keys), nn.Linear(WIDTH, keys)
        self.out = nn.Linear(WIDTH, WIDTH)


def attend(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, dim=-1) @ v


class Swapped(Projected):
    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (of(x).view(b, t, HEADS, SIZE).transpose(1, 2) for of in (self.query, self.key, self.value))
        return self.out(attend(q, k, v).transpose(1, 2).reshape(b, t, WIDTH))


class Permuted(Projected):
    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (of(x).view(b, t, HEADS, SIZE).permute(0, 2, 1, 3) for of in (self.query, self.key, self.value))
        return self.out(F.scaled_dot_product_attention(q, k, v).permute(0, 2, 1, 3).flatten(2))


class Packed(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, HEADS, SIZE).permute(2, 0, 3, 1, 4)
        return self.out(attend(q, k, v).transpose(1, 2).reshape(b, t, WIDTH))


class SequenceFirst(Projected):
    def forward(self, x):
        x = x.transpose(0, 1).contiguous()
        t, b, _ = x.shape
        q, k, v = (of(x).view(t, b * HEADS, SIZE).transpose(0, 1) for of in (self.query, self.key, self.value))
        return self.out(attend(q, k, v).transpose(0, 1).reshape(t, b, WIDTH)).transpose(0, 1)


class SharedKeys(Projected):
    """One head of keys and values for all queries."""

    def __init__(self):
        super().__init__(keys=SIZE)

    def forward(self, x):
        b, t, _ = x.shape
        q = self.query(x).view(b, t, HEADS, SIZE).transpose(1, 2)
        k, v = (of(x).unsqueeze(1).expand(b, HEADS, t, SIZE) for of in (self.key, self.value))
        return self.out(attend(q, k, v).transpose(1, 2).reshape(b, t, WIDTH))


class OneQuery(Projected):
    """A single position has nothing to swap: its heads are a view, and what they find as well."""

    def forward(self, x):
        b, t, _ = x.shape
        q = self.query(x.mean(dim=1, keepdim=True)).view(b, HEADS, 1, SIZE)
        k, v = (of(x).view(b, t, HEADS, SIZE).transpose(1, 2) for of in (self.key, self.value))
        return self.out(F.scaled_dot_product_attention(q, k, v).reshape(b, 1, WIDTH))


class Windows(Projected):
    def forward(self, x):
        b, t, _ = x.shape
        x = x.view(b * t // 2, 2, WIDTH)
        q, k, v = (of(x).view(len(x), 2, HEADS, SIZE).transpose(1, 2) for of in (self.query, self.key, self.value))
        return self.out(attend(q, k, v).transpose(1, 2).reshape(len(x), 2, WIDTH)).view(b, t, WIDTH)


class OverChannels(Projected):
    """Channels look at channels, so that the positions come last."""

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (of(x).transpose(1, 2).reshape(b, HEADS, SIZE, t) for of in (self.query, self.key, self.value))
        return self.out(attend(q, k, v).reshape(b, WIDTH, t).transpose(1, 2))


class InOrderOfMemory(Projected):
    """Groups of memory attend to each other and are put back as they were: strange, and the same both ways."""

    def forward(self, x):
        q, k, v = (of(x).view(len(x), HEADS, -1, SIZE) for of in (self.query, self.key, self.value))
        return self.out(attend(q, k, v).reshape(x.shape))


class Pyramid(nn.Module):
    """Two neighbours become one position of twice the width, and are parted again."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRU(2 * WIDTH, WIDTH, batch_first=True)
        self.wide = nn.Linear(WIDTH, 2 * WIDTH)

    def forward(self, x):
        b, t, width = x.shape
        return self.wide(self.cell(x.reshape(b, t // 2, 2 * width))[0]).view(b, t, width)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        kinds = (Swapped, Permuted, Packed, SequenceFirst, SharedKeys, OneQuery, Windows, OverChannels, InOrderOfMemory)
        self.layers = nn.ModuleList([*(kind() for kind in kinds), Pyramid()])

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return x


def main():
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(4):
        x = torch.randn(5, 8, WIDTH)
        loss = (model(x) - x.flip(1)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
