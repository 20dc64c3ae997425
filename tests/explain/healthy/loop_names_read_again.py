"""Loops that give their variable a new value and use it: batches moved, weights measured, a state carried on,
and names of a batch that nothing reads any more."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
data = [(torch.randn(16, 6, dtype=torch.float64), torch.randn(16)) for _ in range(12)]
for batch, target in data:
    batch = batch.float()
    target = target * 0.5 + batch[:, 0]
    loss = (model(batch).squeeze(1) - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
for batch, target in torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(torch.randn(32, 6), torch.randn(32)), 8
):
    target = (target > 0).float()
    loss = model(batch).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
size = 0.0
for weight in model.parameters():
    weight = weight.detach().abs()
    size += weight.sum().item()
for scale in (torch.ones(1), torch.full((1,), 2.0)):
    scale = scale * 2
print(size > 0, scale.item())
