"""Train a small classifier for 40 steps, with warm-up, clipping and validation."""

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(320, 16), torch.randint(0, 4, (320,))
x = x + nn.functional.one_hot(y, 16) * 2.5
model = nn.Sequential(nn.Linear(16, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 4))
optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=40)
for epoch in range(4):
    model.train()
    for first in range(0, 320, 32):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[first : first + 32]), y[first : first + 32])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    model.eval()
    with torch.no_grad():
        print(f"epoch {epoch}: {(model(x).argmax(1) == y).float().mean():.3f}")
print(f"final loss {loss.item():.4f}")
