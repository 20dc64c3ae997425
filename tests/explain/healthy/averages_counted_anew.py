"""Averages of a batch normalisation that are those of the last batch on purpose, or of all batches alike."""

import torch
from torch import nn

momentum = 0.9  # of the optimizer

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(4, 8, bias=False),
    nn.BatchNorm1d(8, momentum=1.0),
    nn.Tanh(),
    nn.Linear(8, 8, bias=False),
    nn.BatchNorm1d(8, momentum=None),
    nn.Tanh(),
    nn.Linear(8, 3),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=momentum)
for _ in range(10):
    x = torch.randn(16, 4)
    loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item() > 0)
