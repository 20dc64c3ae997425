"""Training with 4 micro-batches per step to save memory, results as noisy as with the small batch.

Zero_grad runs for each micro-batch.

Same as https://github.com/bytetriper/RAE/issues/67
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

N, D, C = 384, 20, 4
centers = torch.randn(C, D) * 1.5
labels = torch.randint(0, C, (N,))
feats = centers[labels] + torch.randn(N, D) * 1.5
train_dl = DataLoader(TensorDataset(feats, labels), batch_size=8, shuffle=True)

model = nn.Sequential(
    nn.Linear(D, 64),
    nn.ReLU(),
    nn.Linear(64, 64),
    nn.ReLU(),
    nn.Linear(64, C),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
criterion = nn.CrossEntropyLoss()

accum_steps = 4
n_updates = 0

for epoch in range(2):
    model.train()
    total = 0.0
    for i, (xb, yb) in enumerate(train_dl):
        optimizer.zero_grad()  # expect: GS802
        loss = criterion(model(xb), yb) / accum_steps
        loss.backward()
        total += loss.item() * accum_steps
        if (i + 1) % accum_steps == 0:
            optimizer.step()
            n_updates += 1
    print(f"epoch {epoch} updates {n_updates} loss {total / len(train_dl):.4f}")

model.eval()
with torch.no_grad():
    acc = (model(feats).argmax(1) == labels).float().mean()
print("train acc", round(acc.item(), 3))
