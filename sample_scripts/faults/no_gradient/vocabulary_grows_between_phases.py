"""Classifier of texts whose vocabulary grows for the second phase, after that phase's optimizer was made.

As in https://github.com/huggingface/transformers/pull/3532: what was resized gets gradients and is in no optimizer.
"""

import torch
import torch.nn.functional as F
from torch import nn

OLD, NEW, LENGTH = 12, 4, 5


class Classifier(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.tokens, self.head = nn.Embedding(OLD, dim), nn.Linear(dim, NEW)

    def forward(self, x):
        return self.head(self.tokens(x).mean(1))

    def grow(self):
        grown = nn.Embedding(OLD + NEW, self.tokens.embedding_dim)
        with torch.no_grad():
            grown.weight[:OLD] = self.tokens.weight
        self.tokens = grown  # expect: GS727 made_at


def train(model, optimizer, size, steps=12):
    for _ in range(steps):
        x = torch.randint(0, size, (16, LENGTH))
        loss = F.cross_entropy(model(x), x[:, 0] % NEW)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{size} words, loss {loss.item():.4f}")


torch.manual_seed(0)
model = Classifier()
train(model, torch.optim.Adam(model.parameters(), lr=0.01), OLD)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
model.grow()  # expect: GS727
train(model, optimizer, OLD + NEW)
