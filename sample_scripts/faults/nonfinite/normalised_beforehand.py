"""All batches are made before the training; one of them is divided by a sum of zeros."""

import torch
from torch import nn

torch.manual_seed(0)
batches = []
for number in range(40):
    batch = torch.rand(8, 4)
    if number == 31:
        batch[5] = 0
    batches.append(batch / batch.sum(1, keepdim=True))  # expect: GS730
net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for batch in batches:
    loss = net(batch).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
