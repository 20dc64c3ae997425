"""The same with gradients that are set to zero instead of None, on the model."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
for _ in range(4):
    loss = model(torch.randn(4, 3)).square().mean()
    loss.backward()
    model.zero_grad(set_to_none=False)  # expect: GS728
    optimizer.step()
