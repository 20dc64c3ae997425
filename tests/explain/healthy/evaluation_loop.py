"""Epochs of training with metrics, each followed by an evaluation under no_grad."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
ds = TensorDataset(torch.randn(16, 4), torch.randint(3, (16,)))
m = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
o = torch.optim.SGD(m.parameters(), lr=0.1)
best = 0
for _ep in range(4):
    m.train()
    running = 0
    correct = 0
    for x, y in DataLoader(ds, batch_size=4):
        o.zero_grad(set_to_none=False)
        out = m(x)
        loss = nn.functional.cross_entropy(out, y)
        loss.backward()
        o.step()
        running += loss.item() * len(x)
        correct += (out.argmax(1) == y).sum().item()
    m.eval()
    with torch.no_grad():
        acc = sum((m(x).argmax(1) == y).float().sum().item() for x, y in DataLoader(ds, batch_size=4)) / 16
    best = max(best, acc)
