"""A layer of attention learns to turn words around; its heads are cut out of the memory as it lies there."""

import torch
from torch import nn

LETTERS, LENGTH = 10, 6


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)

    def split(self, x):
        return x.view(len(x), self.heads, -1, self.size)  # expect: GS847

    def forward(self, x):
        query, key, value = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        weights = torch.softmax(query @ key.transpose(-2, -1) / self.size**0.5, dim=-1)
        return self.out((weights @ value).transpose(1, 2).flatten(2))  # expect: GS847 called_at


class Reverser(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.letters, self.places = nn.Embedding(LETTERS, width), nn.Parameter(torch.randn(LENGTH, width))
        self.attention, self.head = Attention(width, heads=4), nn.Linear(width, LETTERS)

    def forward(self, words):
        x = self.letters(words) + self.places
        return self.head(x + self.attention(x))


def main():
    torch.manual_seed(1)
    model = Reverser()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(8):
        words = torch.randint(0, LETTERS, (16, LENGTH))
        loss = nn.functional.cross_entropy(model(words).flatten(0, 1), words.flip(1).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
