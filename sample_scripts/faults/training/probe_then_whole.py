"""A text classifier is probed first, then trained whole; the optimizer was made of what was not frozen."""

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Embedding(50, 16), nn.Flatten(), nn.Linear(96, 32), nn.Tanh())
        self.head = nn.Linear(32, 3)

    def forward(self, tokens):
        return self.head(self.encoder(tokens))


def epoch(model, optimizer, batches):
    for tokens, labels in batches:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(tokens), labels).backward()
        optimizer.step()


torch.manual_seed(0)
model = Classifier()
batches = [(torch.randint(50, (16, 6)), torch.randint(3, (16,))) for _ in range(10)]
model.encoder.requires_grad_(False)
optimizer = torch.optim.AdamW([one for one in model.parameters() if one.requires_grad], 1e-3)
for _ in range(2):
    epoch(model, optimizer, batches)
model.encoder.requires_grad_(True)  # expect: GS815
for _ in range(4):
    epoch(model, optimizer, batches)
print(f"{nn.functional.cross_entropy(model(batches[0][0]), batches[0][1]).item():.3f}")
