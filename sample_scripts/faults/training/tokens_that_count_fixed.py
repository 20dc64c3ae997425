"""Weighs the words of a sentence; padding is to have no weight.

As in https://github.com/oreilly-japan/deep-learning-from-scratch-4/issues/13.
"""

import torch
from torch import nn


class Sentences(nn.Module):
    def __init__(self, words=30, width=12):
        super().__init__()
        self.table = nn.Embedding(words, width, padding_idx=0)
        self.weigh, self.head = nn.Linear(width, 1), nn.Linear(width, 2)

    def forward(self, words):
        h = self.table(words)
        weights = self.weigh(h).squeeze(-1)
        weights = weights.masked_fill(words == 0, float("-inf"))
        return self.head((weights.softmax(1).unsqueeze(-1) * h).sum(1))


torch.manual_seed(2)
sentences = Sentences()
optimizer = torch.optim.Adam(sentences.parameters(), lr=1e-2)
for step in range(12):
    words = torch.randint(1, 30, (32, 7))
    words[:, 5:] = 0
    loss = nn.functional.cross_entropy(sentences(words), (words[:, 0] > 15).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
