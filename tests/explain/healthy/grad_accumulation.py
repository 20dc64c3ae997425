"""Gradient accumulation over 4 micro batches where the last window of the epoch is shorter.

The loss is divided by the true window length.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

x = torch.randn(232, 10)
y = (x @ torch.randn(10, 1)).squeeze(1) + 0.1 * torch.randn(232)
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)  # 29 micro batches

model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
accum = 4
n_micro = len(loader)

for epoch in range(4):
    running = 0.0
    optimizer.zero_grad()
    for i, (xb, yb) in enumerate(loader):
        start = i - i % accum
        window = min(accum, n_micro - start)
        loss = nn.functional.mse_loss(model(xb).squeeze(1), yb)
        (loss / window).backward()
        running += loss.item()
        if (i + 1) % accum == 0 or i + 1 == n_micro:
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            optimizer.zero_grad()
    print(f"epoch {epoch} loss {running / n_micro:.4f}")
