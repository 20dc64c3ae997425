"""Predicts a price; all layers are given their first values by one function."""
# as in https://taourl.com/read-1959901.html

import torch
from torch import nn


def begin(layer):
    if isinstance(layer, nn.Linear):
        nn.init.zeros_(layer.weight)  # expect: GS734
        nn.init.zeros_(layer.bias)


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 16), nn.ReLU(), nn.Linear(16, 1))
model.apply(begin)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(20):
    x = torch.randn(32, 6)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))  # expect: GS734 called_at
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
