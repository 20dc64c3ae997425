"""Sorter of digits: its attention's weights sum to 1 over the heads, not over the keys.

As in https://github.com/fastnlp/fastNLP/issues/254: a dimension that is right for three is wrong for four.
"""

import torch
import torch.nn.functional as F
from torch import nn

LENGTH, DIGITS = 6, 10


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.mixed = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.dropout = nn.Dropout(0.1)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x):
        query, key, value = map(self.split, self.mixed(x).chunk(3, -1))
        scores = query @ key.transpose(-2, -1) * query.size(-1) ** -0.5
        weights = self.dropout(torch.softmax(scores, -1))
        return self.out((weights @ value).transpose(1, 2).flatten(2))


class Sorter(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.digits, self.places = nn.Embedding(DIGITS, dim), nn.Embedding(LENGTH, dim)
        self.attention, self.norm = Attention(dim, heads), nn.LayerNorm(dim)
        self.head = nn.Linear(dim, DIGITS)

    def forward(self, x):
        h = self.digits(x) + self.places.weight
        return self.head(self.norm(h + self.attention(h)))


def train(steps=30):
    model = Sorter()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(1, steps + 1):
        x = torch.randint(DIGITS, (16, LENGTH))
        loss = F.cross_entropy(model(x).flatten(0, 1), x.sort(1).values.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.4f}")


torch.manual_seed(0)
train()
