"""Sequence tagging with rotary attention whose frequencies are learned.

As in https://github.com/lucidrains/rotary-embedding-torch/issues/18.
"""

import functools

import torch
from torch import nn


@functools.lru_cache(maxsize=64)
def positions(length):
    return torch.arange(length, dtype=torch.float32)


class Rotary(nn.Module):
    def __init__(self, dim, base=100.0):
        super().__init__()
        self.freqs = nn.Parameter(base ** (-torch.arange(0, dim, 2) / dim))

    def angles(self, length):
        theta = torch.outer(positions(length), self.freqs)
        return torch.cos(theta), torch.sin(theta)

    def forward(self, x):
        cos, sin = self.angles(x.shape[1])
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.cat([even * cos - odd * sin, even * sin + odd * cos], dim=-1)


class RotaryAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)
        self.rotary = Rotary(dim)
        self.scale = dim**-0.5

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        weights = (self.rotary(q) @ self.rotary(k).transpose(1, 2) * self.scale).softmax(-1)
        return weights @ v


class Tagger(nn.Module):
    def __init__(self, vocab=30, dim=32, tags=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.attend = RotaryAttention(dim)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, tags)

    def forward(self, tokens):
        x = self.embed(tokens)
        return self.head(self.norm(x + self.attend(x)))


class BucketedCorpus:
    """Batches grouped by sentence length, shortest bucket first, then shuffled."""

    def __init__(self, seed=19, batch=16):
        self.gen = torch.Generator().manual_seed(seed)
        self.lengths = list(range(8, 41, 3))
        self.batch = batch

    def __iter__(self):
        for epoch in range(12):
            order = range(len(self.lengths))
            if epoch > 0:
                order = torch.randperm(len(self.lengths), generator=self.gen).tolist()
            for i in order:
                tokens = torch.randint(0, 30, (self.batch, self.lengths[i]), generator=self.gen)
                previous = torch.roll(tokens, 1, dims=1)
                shift = (previous < 8).long()
                yield tokens, (tokens + shift) % 4


def main():
    torch.manual_seed(27)
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step, (tokens, tags) in enumerate(BucketedCorpus()):
        logits = model(tokens)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tags.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step:2d} length {tokens.shape[1]:2d} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
