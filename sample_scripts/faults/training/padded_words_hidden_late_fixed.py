"""Judges a sentence by an attention of its own over its words; padding is hidden behind the softmax.

As in https://github.com/huggingface/pytorch-image-models/pull/2236.
"""

import torch
from torch import nn


class Judge(nn.Module):
    def __init__(self, words=25, width=16):
        super().__init__()
        self.table = nn.Embedding(words, width, padding_idx=0)
        self.ask, self.answer, self.value = (nn.Linear(width, width) for _ in range(3))
        self.head = nn.Linear(width, 2)

    def forward(self, words):
        h = self.table(words)
        scores = self.ask(h) @ self.answer(h).transpose(1, 2) / 4
        hidden = (words == 0).unsqueeze(1)
        weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
        return self.head((weights @ self.value(h))[:, 0])


torch.manual_seed(0)
judge = Judge()
optimizer = torch.optim.Adam(judge.parameters(), lr=3e-3)
for _ in range(12):
    words = torch.randint(1, 25, (24, 9))
    words[torch.arange(9) >= torch.randint(4, 9, (24, 1))] = 0
    loss = nn.functional.cross_entropy(judge(words), (words[:, 1] > 12).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
