"""Tagger whose embedding is to learn slower than the rest: it has a group of its own.

As in https://github.com/pytorch/pytorch/issues/2843.
"""

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, slower):
        super().__init__()
        self.slower = slower
        self.words = nn.Embedding(20, 6)
        self.out = nn.Linear(6, 3)

    def groups(self, rate):
        return [{"params": self.words.parameters(), "lr": rate / self.slower}, {"params": self.out.parameters()}]

    def forward(self, text):
        return self.out(torch.tanh(self.words(text)))


def main():
    torch.manual_seed(0)
    model = Tagger(slower=20.0)
    optimizer = torch.optim.RMSprop(model.groups(1e-2), lr=1e-2)
    for _ in range(20):
        text = torch.randint(20, (8, 5))
        loss = nn.functional.cross_entropy(model(text).flatten(0, 1), text.flatten() % 3)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.3f}")


main()
