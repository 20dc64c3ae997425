"""Loss does not move at all on a small sample of the data.

Accumulation is 64 from the big run but an epoch has 12 batches, so step() is never reached.

Same as https://github.com/huggingface/transformers/issues/2995
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

gradient_accumulation_steps = 64
batch_size = 16
num_epochs = 3

xs = torch.rand(192, 6) * 4 - 2
ys = torch.stack([torch.sin(xs[:, 0]) + xs[:, 1], xs[:, 2] * 0.5 - xs[:, 3]], dim=1)
loader = DataLoader(TensorDataset(xs, ys), batch_size=batch_size, shuffle=True)

model = nn.Sequential(nn.Linear(6, 48), nn.GELU(), nn.Linear(48, 48), nn.GELU(), nn.Linear(48, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
mse = nn.MSELoss()

model.train()
optimizer.zero_grad()
for epoch in range(num_epochs):
    tr_loss = 0.0
    for step, (x, y) in enumerate(loader):
        loss = mse(model(x), y)
        tr_loss += loss.item()
        loss = loss / gradient_accumulation_steps
        loss.backward()
        if (step + 1) % gradient_accumulation_steps == 0:  # expect: GS804
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
    print(f"epoch {epoch + 1}/{num_epochs} loss {tr_loss / len(loader):.4f}")

model.eval()
with torch.no_grad():
    print(f"final mse {mse(model(xs), ys).item():.4f}")
