"""A tagger whose dropout is a function that nobody tells of eval(): its validation drops words by chance."""

# as in https://github.com/pytorch/pytorch/issues/26338
import torch
import torch.nn.functional as F
from torch import nn


class Tagger(nn.Module):
    def __init__(self, words=30, tags=5):
        super().__init__()
        self.embedding = nn.Embedding(words, 16)
        self.hidden, self.out = nn.Linear(16, 32), nn.Linear(32, tags)

    def forward(self, x):
        h = torch.relu(self.hidden(self.embedding(x)))
        h = F.dropout(h, p=0.4, training=self.training)
        return self.out(h)


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        right = (model(x).argmax(-1) == y).float().mean()
    model.train()
    return right.item()


torch.manual_seed(0)
words, tags = torch.randint(0, 30, (60, 8)), None
tags = words % 5
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(4):
    for x, y in zip(words[:48].split(8), tags[:48].split(8), strict=True):
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, accuracy(model, words[48:], tags[48:]))
