"""torch.where computes both branches, and differentiates both."""

import torch
from torch import nn


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        z = x + self.shift
        return torch.where(z > 0, z.pow(0.5), torch.zeros_like(z))  # expect: GS731


torch.manual_seed(0)
flow = Flow()
optimizer = torch.optim.Adam(flow.parameters(), lr=0.01)
x = torch.rand(6)
for step in range(6):
    batch = x.clone()
    if step == 4:
        batch[2] = -flow.shift.item()
    loss = (flow(batch) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
