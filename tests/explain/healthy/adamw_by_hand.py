"""An optimizer written out, after a loss of more operators than are followed in one go."""

import torch
from torch import nn

torch.manual_seed(0)
cell, head = nn.GRUCell(6, 12), nn.Linear(12, 6)
parameters = [*cell.parameters(), *head.parameters()]
means = [torch.zeros_like(one) for one in parameters]
squares = [torch.zeros_like(one) for one in parameters]
for step in range(1, 60):
    sequence, state, loss = torch.randn(5 + step % 7, 16, 6).cumsum(0), torch.zeros(16, 12), 0.0
    for at in range(len(sequence) - 1):
        state = cell(sequence[at], state)
        loss = loss + (head(state) - sequence[at + 1]).square().mean()
    for one in parameters:
        one.grad = None
    loss.backward()
    for one, mean, square in zip(parameters, means, squares, strict=True):
        gradient = one.grad
        mean.mul_(0.9).add_(gradient, alpha=0.1)
        square.mul_(0.98).addcmul_(gradient, gradient, value=0.02)
        unbiased = (mean / (1 - 0.9**step)) / ((square / (1 - 0.98**step)).sqrt() + 1e-8)
        one.data.mul_(1 - 1e-4).add_(unbiased, alpha=-1e-2)
