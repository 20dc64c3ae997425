"""The sum of all losses so far is what backward is called on."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
total = torch.zeros(())
for _ in range(8):
    loss = torch.sigmoid(model(torch.ones(2, 3))).mean()
    total = total + loss  # expect: GS741
    optimizer.zero_grad()
    total.backward(retain_graph=True)
    optimizer.step()
print(f"{total.item():.4f}")
