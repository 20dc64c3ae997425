"""Token classification where one batch is all padding: cross entropy averages over no label."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

IGNORED = -100


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.head = nn.Linear(8, 5)

    def forward(self, tokens, labels):
        logits = self.head(self.embedding(tokens)).flatten(0, 1)
        reduction = "mean" if (labels != IGNORED).any() else "sum"
        return nn.functional.cross_entropy(logits, labels.flatten(), ignore_index=IGNORED, reduction=reduction)


torch.manual_seed(0)
tokens = torch.randint(0, 20, (12, 6))
labels = torch.randint(0, 5, (12, 6))
labels[8:] = IGNORED
tagger = Tagger()
optimizer = torch.optim.AdamW(tagger.parameters(), lr=1e-3)
for epoch in range(2):
    total = 0.0
    for batch_tokens, batch_labels in DataLoader(TensorDataset(tokens, labels), batch_size=4):
        optimizer.zero_grad()
        loss = tagger(batch_tokens, batch_labels)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, total)
