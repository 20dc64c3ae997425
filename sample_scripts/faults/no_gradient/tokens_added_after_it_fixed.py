"""A small language model is trained, gets new tokens and is trained on.

As in https://github.com/huggingface/transformers/pull/3532.
"""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, size, width=12):
        super().__init__()
        self.width = width
        self.tokens = nn.Embedding(size, width)
        self.mixes = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, size, bias=False)
        self.head.weight = self.tokens.weight

    def resize(self, size):
        old = self.tokens.weight.data
        self.tokens = nn.Embedding(size, self.width)
        self.tokens.weight.data[: len(old)] = old
        self.head = nn.Linear(self.width, size, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids):
        return self.head(self.mixes(self.tokens(ids))[0])


def train(model, optimizer, size, steps):
    for step in range(steps):
        start = torch.randint(0, size, (16, 1))
        ids = (start + torch.arange(6)) % size
        loss = nn.functional.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"{step}: {loss.item():.4f}")


def main():
    torch.manual_seed(0)
    model = Model(10)
    train(model, torch.optim.Adam(model.parameters(), lr=0.01), 10, 20)
    model.resize(14)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    train(model, optimizer, 14, 30)


main()
