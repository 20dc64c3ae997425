"""MLP with heavy dropout, validation under torch.no_grad() gives another number each time.

Model.eval() is never called, dropout is active in validation.

Compare https://github.com/ugent-korea/pytorch-unet-segmentation/issues/18
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

X = torch.randn(320, 16)
Y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).long()
train_loader = DataLoader(TensorDataset(X[:192], Y[:192]), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(X[192:], Y[192:]), batch_size=64)

model = nn.Sequential(
    nn.Linear(16, 64),
    nn.ReLU(),
    nn.Dropout(0.5),
    nn.Linear(64, 64),
    nn.ReLU(),
    nn.Dropout(0.5),
    nn.Linear(64, 2),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(6):
    model.train()
    train_loss = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        train_loss += loss.item() * len(xb)

    model.eval()
    val_loss, hits = 0.0, 0
    with torch.no_grad():
        for xb, yb in val_loader:
            out = model(xb)
            val_loss += criterion(out, yb).item() * len(xb)
            hits += (out.argmax(1) == yb).sum().item()
    print(f"epoch {epoch} train {train_loss / 192:.4f} val {val_loss / 128:.4f} acc {hits / 128:.3f}")
