"""Tagger whose embedding is to learn slower than the rest: its gradients are divided by a hook of a class.

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
        self.words.weight.register_hook(self.damp)  # expect: GS873

    def damp(self, gradient):
        return gradient / self.slower

    def forward(self, text):
        return self.out(torch.tanh(self.words(text)))


def main():
    torch.manual_seed(0)
    model = Tagger(slower=20.0)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-2)
    for _ in range(20):
        text = torch.randint(20, (8, 5))
        loss = nn.functional.cross_entropy(model(text).flatten(0, 1), text.flatten() % 3)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.3f}")


main()
