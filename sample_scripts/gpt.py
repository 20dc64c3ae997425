"""Train a small GPT, character by character, on twelve of Shakespeare's sonnets."""

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

CONTEXT = 32
WIDTH = 64
HEADS = 4
LAYERS = 4
STEPS = 10


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.project = nn.Linear(WIDTH, WIDTH)
        self.register_buffer("mask", torch.tril(torch.ones(CONTEXT, CONTEXT, dtype=torch.bool)), persistent=False)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).split(WIDTH, dim=2)
        q = q.view(batch, length, HEADS, width // HEADS).transpose(1, 2)
        k = k.view(batch, length, HEADS, width // HEADS).transpose(1, 2)
        v = v.view(batch, length, HEADS, width // HEADS).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / (width // HEADS) ** 0.5
        scores = scores.masked_fill(~self.mask[:length, :length], float("-inf"))
        mixed = scores.softmax(dim=-1) @ v
        return self.project(mixed.transpose(1, 2).reshape(batch, length, width))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.expand = nn.Linear(WIDTH, 4 * WIDTH)
        self.project = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return self.project(F.gelu(self.expand(x)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.norm2 = nn.LayerNorm(WIDTH)
        self.mlp = MLP()

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.token = nn.Embedding(vocabulary, WIDTH)
        self.position = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, vocabulary, bias=False)

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[1])
        x = self.token(tokens) + self.position(positions)
        return self.head(self.norm(self.blocks(x)))


def read_text():
    """The text as a tensor of character numbers, and how many characters there are."""
    text = (Path(__file__).parent / "data" / "sonnets.txt").read_text()
    characters = sorted(set(text))
    numbers = {character: number for number, character in enumerate(characters)}
    return torch.tensor([numbers[character] for character in text]), len(characters)


def get_batch(data, size=8):
    """Random pieces of the text, and the same pieces one character later."""
    starts = torch.randint(len(data) - CONTEXT - 1, (size,)).tolist()
    x = torch.stack([data[start : start + CONTEXT] for start in starts])
    y = torch.stack([data[start + 1 : start + CONTEXT + 1] for start in starts])
    return x, y


def main():
    torch.manual_seed(1609)
    torch.set_num_threads(1)
    data, vocabulary = read_text()
    model = GPT(vocabulary)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(STEPS):
        x, y = get_batch(data)
        logits = model(x)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print(f"step {step} loss {loss.item():.6f}")
    print(f"final loss {loss.item():.9f}")


if __name__ == "__main__":
    main()
