"""A variational autoencoder draws its codes with torch.normal(). As in https://github.com/Unity-Technologies/ml-agents/pull/5546."""

import torch
from torch import nn


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 6))
        self.decoder = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 12))

    def forward(self, x):
        mean, spread = self.encoder(x).chunk(2, 1)
        deviation = nn.functional.softplus(spread)
        code = torch.normal(mean, deviation)  # expect: GS840
        divergence = (mean.square() + deviation.square() - 2 * deviation.log() - 1).sum(1) / 2
        return (self.decoder(code) - x).square().sum(1) + 0.1 * divergence


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Autoencoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    mixing = torch.randn(3, 12)
    for _ in range(60):
        loss = model(torch.randn(64, 3) @ mixing).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.2f}")
