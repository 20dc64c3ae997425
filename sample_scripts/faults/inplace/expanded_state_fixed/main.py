"""Run a recurrent cell from one learned initial state for all of a batch."""

import torch
from cell import Cell

torch.manual_seed(0)
model = Cell(3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in torch.utils.data.DataLoader(torch.randn(8, 5, 3), batch_size=4):
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    optimizer.step()
print("trained")
