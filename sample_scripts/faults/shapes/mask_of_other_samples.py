"""Leaves unlabelled rows out of the loss."""
# as in https://github.com/marvis/pytorch-yolo2/issues/174

import torch
from torch import nn

torch.manual_seed(0)
rows, labels = torch.randn(48, 5), torch.randint(0, 3, (48,))
labelled = torch.rand(48) > 0.2
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for start in range(0, 48, 16):
    part = slice(start, start + 16)
    scores = model(rows[part])
    loss = nn.functional.cross_entropy(scores[labelled], labels[part])  # expect: GS867
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
