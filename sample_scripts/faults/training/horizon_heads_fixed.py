"""A forecaster with a head of its own for each of its horizons."""

import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self, horizons):
        super().__init__()
        self.body = nn.GRU(2, 16, batch_first=True)
        self.heads = nn.ModuleList(nn.Linear(16, 1) for _ in range(horizons))

    def forward(self, series):
        _, state = self.body(series)
        return torch.cat([head(state[0]) for head in self.heads], 1)


torch.manual_seed(0)
model = Forecaster(3)
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
for _ in range(12):
    series = torch.randn(16, 8, 2)
    loss = nn.functional.mse_loss(model(series), series[:, -3:, 0])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
