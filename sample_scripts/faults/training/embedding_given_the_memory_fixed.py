"""Two encoders are given one table of words itself.

As in https://github.com/pytorch/pytorch/issues/62264.
"""

import torch
from torch import nn


def table(words, width, shared=None):
    if shared is None:
        return nn.Embedding(words, width)
    return shared


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.question = table(20, 5)
        self.answer = table(20, 5, shared=self.question)
        self.out = nn.Linear(5, 5)

    def forward(self, asked, given):
        return self.out(self.question(asked).mean(1)) @ self.answer(given).mean(1).t()


def main():
    torch.manual_seed(0)
    model = Pair()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(10):
        texts = torch.randint(20, (6, 4))
        loss = nn.functional.cross_entropy(model(texts, texts), torch.arange(6))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.3f}")


main()
