"""Attention weights whose first row is zeroed through a view of a view."""

import torch

scores = torch.randn(2, 4, 4, requires_grad=True)
weights = torch.softmax(scores, dim=-1)  # expect: GS701 saved_at
rows = weights.view(8, 4)[1:]
rows[0].zero_()  # expect: GS701
loss = (rows * torch.arange(4.0)).sum()
loss.backward()  # expect: GS701 fails_at
print(scores.grad.norm())
