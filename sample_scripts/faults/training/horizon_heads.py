"""A forecaster with a head for each of its horizons."""
# as in https://github.com/yaoppeng/U-Net_v2/issues/10

import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self, horizons):
        super().__init__()
        self.body = nn.GRU(2, 16, batch_first=True)
        self.heads = nn.ModuleList([nn.Linear(16, 1)] * horizons)  # expect: GS835

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
