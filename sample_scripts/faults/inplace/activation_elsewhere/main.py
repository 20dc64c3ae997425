"""Fit a residual network whose blocks are built in another file."""

import torch
from blocks import ResidualNetwork

torch.manual_seed(0)
model = ResidualNetwork(width=6, depth=2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
data = torch.utils.data.DataLoader(torch.randn(12, 6), batch_size=4)
for _ in range(2):
    for batch in data:
        optimizer.zero_grad()
        loss = (model(batch) - batch).square().mean()
        loss.backward()  # expect: GS701 fails_at
        optimizer.step()
print("trained")
