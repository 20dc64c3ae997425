"""Charges of a battery, forecast hour by hour from what an LSTM cell remembers of the hours before."""

import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.hidden = hidden
        self.cell = nn.LSTMCell(2, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, loads, charge):
        h = c = loads.new_zeros(len(loads), self.hidden)
        forecast = []
        for hour in range(loads.shape[1]):
            h, c = self.cell(torch.stack((loads[:, hour], charge), 1), (h, c))
            forecast.append(self.out(h).squeeze(1))
        return torch.stack(forecast, 1)


torch.manual_seed(0)
model = Forecaster()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
for epoch in range(20):
    loads, charge = torch.randn(64, 16) * 0.1, torch.rand(64)
    true = charge[:, None] + loads.cumsum(1)
    loss = nn.functional.smooth_l1_loss(model(loads, charge), true)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
print(f"loss {loss.item():.4f}")
