"""Overfits from the second epoch on in spite of heavy dropout.

Model.eval() for validation is never followed by model.train().

Same as https://github.com/shubhamagarwal92/mmd/issues/14
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)

X = torch.randn(240, 30)
y = ((X[:, :5].sum(1) + torch.randn(240)) > 0).long()
train_ds, val_ds = random_split(TensorDataset(X, y), [160, 80])
train_dl = DataLoader(train_ds, batch_size=32, shuffle=True)
val_dl = DataLoader(val_ds, batch_size=80)

model = nn.Sequential(
    nn.Linear(30, 128),
    nn.ReLU(),
    nn.Dropout(0.5),
    nn.Linear(128, 128),
    nn.ReLU(),
    nn.Dropout(0.5),
    nn.Linear(128, 2),
)
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
ce = nn.CrossEntropyLoss()

for epoch in range(7):
    model.train()
    tl = 0.0
    for xb, yb in train_dl:
        opt.zero_grad()
        loss = ce(model(xb), yb)
        loss.backward()
        opt.step()
        tl += loss.item() / len(train_dl)

    model.eval()
    with torch.no_grad():
        for xb, yb in val_dl:
            out = model(xb)
            vl = ce(out, yb).item()
            va = (out.argmax(1) == yb).float().mean().item()
    print(f"epoch {epoch}: train {tl:.4f} val {vl:.4f} acc {va:.3f}")
