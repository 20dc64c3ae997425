"""Visits of a patient are pooled by attention, patient by patient."""

# as in https://github.com/pytorch/pytorch/issues/59159
import torch
from torch import nn


class Risk(nn.Module):
    def __init__(self):
        super().__init__()
        self.visits = nn.Linear(5, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        h = torch.tanh(self.visits(x))
        mixed, _ = self.attention(h, h, h, need_weights=False)
        return self.out(mixed.mean(1)).squeeze(1)


torch.manual_seed(0)
model = Risk()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(5):
    x = torch.randn(10, 6, 5)
    loss = nn.functional.binary_cross_entropy_with_logits(model(x), (x.sum((1, 2)) > 0).float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
