"""Mean and spread of a forecast come from the same head: a slip of copying, on one line. As in https://github.com/salesforce/decaNLP/issues/9."""

import torch
from torch import nn


class Forecast(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, width), nn.SiLU())
        self.to_mean = nn.Linear(width, 1)
        self.to_spread = nn.Linear(width, 1)

    def forward(self, x):
        h = self.trunk(x)
        mean, spread = self.to_mean(h), self.to_spread(h)
        return mean.squeeze(1), spread.squeeze(1).clamp(-6, 4)


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Forecast()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(40):
        x = torch.randn(64, 4)
        mean, spread = model(x)
        loss = (spread + (x[:, 0] - mean).square() * (-spread).exp()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")
