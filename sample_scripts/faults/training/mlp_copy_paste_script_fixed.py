"""Tabular MLP, the validation loss looks suspiciously good.

The validation loop was copied from training together with loss.backward().

Like https://github.com/harvardnlp/annotated-transformer/issues/14
"""

import torch
from torch import nn

torch.manual_seed(0)

x = torch.randn(320, 10)
w = torch.randn(10)
y = ((x @ w + 0.5 * torch.randn(320)) > 0).float()
xtr, ytr = x[:240], y[:240]
xva, yva = x[240:], y[240:]

model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Dropout(0.1), nn.Linear(32, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
bce = nn.BCEWithLogitsLoss()

B = 40
for epoch in range(4):
    model.train()
    train_loss = 0.0
    for i in range(0, 240, B):
        xb, yb = xtr[i : i + B], ytr[i : i + B]
        out = model(xb).squeeze(1)
        loss = bce(out, yb)
        loss.backward()
        opt.step()
        opt.zero_grad()
        train_loss += loss.item() * len(xb)

    model.eval()
    val_loss, hits = 0.0, 0
    for i in range(0, 80, B):
        xb, yb = xva[i : i + B], yva[i : i + B]
        out = model(xb).squeeze(1)
        loss = bce(out, yb)
        val_loss += loss.item() * len(xb)
        hits += ((out > 0).float() == yb).sum().item()

    print(f"epoch {epoch} train {train_loss / 240:.4f} val {val_loss / 80:.4f} acc {hits / 80:.3f}")
