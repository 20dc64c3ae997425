"""Tagger that wants the loss of each token, to weigh sentences: tokens that are ignored are counted in the mean."""

import torch
import torch.nn.functional as F
from torch import nn

TAGS, LENGTH, IGNORED = 5, 10, -100


class Tagger(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.embed = nn.Embedding(30, dim)
        self.rnn = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * dim, TAGS)

    def forward(self, x):
        return self.out(self.rnn(self.embed(x))[0])


def batches(count, size=16):
    for _ in range(count):
        x = torch.randint(0, 30, (size, LENGTH))
        unknown = torch.rand(size, LENGTH) < torch.rand(size, 1)
        yield x, (x % TAGS).masked_fill(unknown, IGNORED)


def loss_of(logits, label):
    each = F.cross_entropy(logits.flatten(0, 1), label.flatten(), ignore_index=IGNORED, reduction="none")
    return each.sum() / (label != IGNORED).sum(), each


torch.manual_seed(0)
model = Tagger()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
hardest = 0.0
for i, (x, y) in enumerate(batches(30), 1):
    loss, each = loss_of(model(x), y)
    hardest = max(hardest, each.max().item())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 10 == 0:
        print(f"batch {i} loss {loss.item():.4f} hardest {hardest:.3f}")
