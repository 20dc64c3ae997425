"""Sorts grains of rice by a trunk that has learned to sort wheat; every round begins with train() of the whole model.

As in https://discuss.pytorch.org/t/decreasing-weights-without-optimization/4268.
"""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Sequential(nn.Conv1d(1, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.Flatten()), nn.Dropout(0.1), nn.Linear(40, 3)
)
model[0].requires_grad_(False)
optimizer = torch.optim.RMSprop(model[2].parameters(), lr=1e-3)
for _ in range(4):
    model.train()
    model[0].eval()
    for _ in range(5):
        grains, sorts = torch.randn(12, 1, 12) + 0.5, torch.randint(3, (12,))
        scores = model(grains)
        loss = nn.functional.cross_entropy(scores, sorts)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        hits = (model(grains).argmax(1) == sorts).float().mean()
print(f"{loss.item():.3f} {hits.item():.2f}")
