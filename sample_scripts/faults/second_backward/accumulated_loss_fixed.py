"""A running total of the loss that is used as the loss."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 5), nn.Sigmoid(), nn.Linear(5, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = torch.zeros(())
for batch in torch.utils.data.DataLoader(torch.randn(8, 3), batch_size=2):
    optimizer.zero_grad()
    loss = model(batch).square().mean()
    total = total + loss.detach()
    loss.backward()
    optimizer.step()
print("trained")
