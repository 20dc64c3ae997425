"""The twin of terms_logged_then_summed.py: the sum is taken over the terms."""

import torch
from torch import nn


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encode, self.decode = nn.Linear(20, 8), nn.Linear(4, 20)

    def forward(self, x):
        mean, logarithm = self.encode(x).chunk(2, 1)
        drawn = mean + torch.randn_like(mean) * (0.5 * logarithm).exp()
        return self.decode(drawn), mean, logarithm


def terms(model, x, log):
    again, mean, logarithm = model(x)
    divergence = -0.5 * (1 + logarithm - mean.square() - logarithm.exp()).sum(1).mean()
    log["divergence"] = divergence.detach()
    return (again - x).square().sum(1).mean() + 0.5 * divergence


torch.manual_seed(0)
model = Autoencoder()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for step in range(20):
    x, log = torch.randn(32, 20), {}
    loss = terms(model, x, log)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{log['divergence'].item():.3f}")
