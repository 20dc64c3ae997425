"""Trains, keeps the weights, and scores new rows with what was kept."""
# as in https://github.com/mrdbourke/pytorch-deep-learning/issues/708

import io

import torch
from torch import nn


def build():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


torch.manual_seed(0)
model, kept = build(), io.BytesIO()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(10):
    x = torch.randn(16, 4)
    loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
torch.save(model.state_dict(), kept)
kept.seek(0)
best = torch.load(kept)  # expect: GS866
best.eval()  # expect: GS866 fails_at
with torch.no_grad():
    print(best(torch.randn(3, 4)).argmax(1).tolist())
