"""The same with the method."""

import torch
from torch import nn

torch.manual_seed(0)
vectors, classifier = nn.Embedding(30, 8), nn.Linear(8, 2)
vectors.weight.requires_grad_(False)
optimizer = torch.optim.Adam([*vectors.parameters(), *classifier.parameters()], 1e-2)
for _ in range(10):
    words, label = torch.randint(30, (16, 5)), torch.randint(2, (16,))
    loss = nn.functional.cross_entropy(classifier(vectors(words).mean(1)), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
