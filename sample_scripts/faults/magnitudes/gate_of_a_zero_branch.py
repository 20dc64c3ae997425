"""A branch is added to a trained forecaster behind a gate, so that nothing changes at first.

As in https://github.com/yz93/LAVT-RIS/issues/25.
"""

import torch
from torch import nn


class Gated(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.outer = nn.Linear(width, width)
        self.gate = nn.Parameter(torch.zeros(1))  # expect: GS890 declared_at
        nn.init.zeros_(self.outer.weight)  # expect: GS890
        nn.init.zeros_(self.outer.bias)

    def forward(self, x):
        branch = self.outer(torch.relu(self.inner(x)))
        return x + branch * self.gate  # expect: GS890 called_at


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 24), Gated(24), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(20):
    x = torch.randn(64, 8)
    loss = nn.functional.mse_loss(model(x), x.prod(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
