"""Search by two towers over one table of words: groups with and without decay are put together parameter by parameter.

As in https://github.com/pytorch/pytorch/issues/40967.
"""

import torch
from torch import nn


class Tower(nn.Module):
    def __init__(self, words):
        super().__init__()
        self.words = words
        self.out = nn.Linear(8, 4)

    def forward(self, text):
        return self.out(self.words(text).mean(1))


class Search(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        words = nn.Embedding(vocabulary, 8)
        self.query, self.product = Tower(words), Tower(words)

    def forward(self, queries, products):
        return self.query(queries) @ self.product(products).t()

    def groups(self, decay):
        with_decay, without = [], []
        for one in self.parameters():
            (with_decay if one.ndim > 1 else without).append(one)
        return [{"params": with_decay, "weight_decay": decay}, {"params": without, "weight_decay": 0.0}]


def main():
    torch.manual_seed(0)
    model = Search(50)
    groups = model.groups(1e-4)
    optimizer = torch.optim.SGD(groups, lr=0.05)
    for _ in range(10):
        texts = torch.randint(50, (6, 5))
        loss = nn.functional.cross_entropy(model(texts, texts), torch.arange(6))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.2f}")


main()
