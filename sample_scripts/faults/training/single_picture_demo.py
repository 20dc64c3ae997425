"""A classifier is trained in whole batches, and then shown one picture."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)
points = torch.randn(64, 6)
labels = (points[:, 0] > 0).long()
loader = DataLoader(TensorDataset(points, labels), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(3):
    for batch, target in loader:
        loss = nn.functional.cross_entropy(model(batch), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f}")

with torch.no_grad():
    print("class", model(points[:1]).argmax(1).item())  # expect: GS814
