"""An ensemble of small nets of their own, trained together and averaged."""

import torch
from torch import nn

torch.manual_seed(0)
MEMBERS = 3
ensemble = nn.ModuleList(nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)) for _ in range(MEMBERS))
optimizer = torch.optim.Adam(ensemble.parameters(), 1e-2)
for _ in range(12):
    x = torch.randn(16, 3)
    losses = [nn.functional.mse_loss(net(x), x.prod(1, keepdim=True)) for net in ensemble]
    optimizer.zero_grad()
    sum(losses).backward()
    optimizer.step()
with torch.no_grad():
    spread = torch.stack([net(torch.ones(1, 3)) for net in ensemble]).std()
print(f"spread {spread.item():.3f}")
