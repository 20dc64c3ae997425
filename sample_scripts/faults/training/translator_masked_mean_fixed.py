"""Translator of digits into words of different length: padding is masked, and counted all the same.

As in https://github.com/d2l-ai/d2l-en/issues/2076: the mean over each sentence divides by its padded length.
"""

import torch
import torch.nn.functional as F
from torch import nn

LENGTH, TOKENS = 12, 8


class Translator(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.embed = nn.Embedding(TOKENS, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, TOKENS)

    def forward(self, x):
        return self.head(self.rnn(self.embed(x))[0])


class MaskedLoss(nn.Module):
    def forward(self, logits, label, length):
        mask = torch.arange(label.size(1))[None] < length[:, None]
        each = F.cross_entropy(logits.transpose(1, 2), label, reduction="none") * mask
        return each.sum(1).div(length).mean()


def sentences(n):
    length = torch.randint(2, LENGTH + 1, (n,))
    x = torch.randint(1, TOKENS, (n, LENGTH))
    return x, (x.cumsum(1) % TOKENS), length


def train(steps=30):
    model, criterion = Translator(), MaskedLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(1, steps + 1):
        x, y, length = sentences(16)
        loss = criterion(model(x), y, length)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.4f}")


torch.manual_seed(0)
train()
