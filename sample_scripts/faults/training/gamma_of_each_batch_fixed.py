"""Lets the learning rate fall from batch to batch."""
# as in https://github.com/facebookresearch/dinov2/issues/276

import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
scheduler = StepLR(optimizer, step_size=5, gamma=0.9)
for batch in range(60):
    x = torch.randn(32, 5)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
print(f"loss {loss.item():.3f}")
