"""A one-cycle schedule counts the batches by a division that forgets the last one."""

# as in https://github.com/A4Bio/PiFold/issues/6
import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(50, 4)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = OneCycleLR(optimizer, 0.01, total_steps=3 * (len(x) // 16))  # expect: GS818
for _ in range(3):
    for given, wanted in loader:
        loss = nn.functional.mse_loss(model(given), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()  # expect: GS818 fails_at
