"""Language model that counts: its batches are shifted where they are cut, and in the loss again.

As https://github.com/huggingface/transformers/pull/44642 tells of users who shift labels that the model shifts itself.
"""

import torch
import torch.nn.functional as F
from torch import nn

NUMBERS, LENGTH = 12, 17


class Counter(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.embed = nn.Embedding(NUMBERS, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, NUMBERS)

    def forward(self, tokens, labels):
        logits = self.head(self.rnn(self.embed(tokens))[0])
        read, next_one = logits[:, :-1], labels[:, 1:]
        return F.cross_entropy(read.flatten(0, 1), next_one.flatten())


def cut(n):
    start, stride = torch.randint(NUMBERS, (n, 1)), torch.randint(1, 4, (n, 1))
    text = (start + stride * torch.arange(LENGTH)) % NUMBERS
    return {"tokens": text, "labels": text}


torch.manual_seed(0)
model = Counter()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for step in range(1, 31):
    loss = model(**cut(16))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.4f}")
