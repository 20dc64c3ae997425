"""Attention weights whose first row is zeroed through a view of a view."""

import torch

scores = torch.randn(2, 4, 4, requires_grad=True)
weights = torch.softmax(scores, dim=-1)
rows = weights.clone().view(8, 4)[1:]
rows[0].zero_()
loss = (rows * torch.arange(4.0)).sum()
loss.backward()
print(scores.grad.norm())
