"""Columns and rows of one length that are multiplied on purpose: a kernel between samples, and a fit of rank one."""

import torch

torch.manual_seed(0)
points = torch.randn(12, 1, requires_grad=True)
left, right = torch.randn(12, 1, requires_grad=True), torch.randn(12, requires_grad=True)
table = torch.randn(12, 12)
optimizer = torch.optim.SGD([points, left, right], lr=1e-2)
for _ in range(12):
    distance = points.squeeze(1).unsqueeze(1) * points.squeeze(1)
    rank_one = left * right
    loss = distance.mean() + (rank_one - table).pow(2).mean() + (left * right).softmax(dim=1).max()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
