"""Embeddings are computed in inference mode, and a layer that learns needs to save them."""

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(10, 4)
        self.out = nn.Linear(4, 10)

    def embed(self, tokens):
        return self.embedding(tokens) * 2

    def forward(self, tokens):
        return self.out(self.embed(tokens))


torch.manual_seed(0)
tagger = Tagger()
optimizer = torch.optim.SGD(tagger.parameters(), lr=0.1)
for _ in range(2):
    tokens = torch.randint(10, (4,))
    loss = nn.functional.cross_entropy(tagger(tokens), tokens)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
