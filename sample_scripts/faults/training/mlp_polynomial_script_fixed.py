"""Spiral classifier stops learning after a few batches.

PolynomialLR was made with total_iters = epochs but is stepped for every batch, so the lr is 0 nearly all the
time.

Like https://github.com/ivadomed/ivadomed/pull/55
"""

import math

import torch
from torch import nn

torch.manual_seed(0)

n = 120
r = torch.linspace(0.1, 1.0, n)
pts, lab = [], []
for k in range(3):
    a = r * 4 + k * 2 * math.pi / 3 + 0.1 * torch.randn(n)
    pts.append(torch.stack([r * torch.cos(a), r * torch.sin(a)], dim=1))
    lab.append(torch.full((n,), k))
X = torch.cat(pts)
Y = torch.cat(lab)

model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
EPOCHS = 6
scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=EPOCHS, power=1.0)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(EPOCHS):
    order = torch.randperm(len(X))
    seen = 0.0
    for chunk in order.split(60):
        optimizer.zero_grad()
        loss = loss_fn(model(X[chunk]), Y[chunk])
        loss.backward()
        optimizer.step()
        seen += loss.item() * len(chunk)
    scheduler.step()
    print(f"epoch {epoch} loss {seen / len(X):.4f}")

acc = (model(X).argmax(1) == Y).float().mean().item()
print(f"accuracy {acc:.3f}")
