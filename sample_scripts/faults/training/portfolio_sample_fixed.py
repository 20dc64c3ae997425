"""Stochastic allocation head: sample logits, softmax, maximise utility."""

# as in https://github.com/jankrepl/deepdow/pull/106
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal, kl_divergence


class MarketEncoder(nn.Module):
    def __init__(self, assets=5, lookback=8, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(assets * lookback, hidden), nn.Tanh())
        self.mu = nn.Linear(hidden, assets)
        self.log_sigma = nn.Linear(hidden, assets)

    def forward(self, x):
        h = self.net(x)
        return Normal(self.mu(h), self.log_sigma(h).clamp(-4, 1).exp())


class SampledAllocator(nn.Module):
    def __init__(self, assets=5):
        super().__init__()
        self.encoder = MarketEncoder(assets)
        self.temperature = nn.Parameter(torch.zeros(()))
        self.prior = Normal(0.0, 1.0)

    def forward(self, x):
        dist = self.encoder(x)
        logits = dist.rsample()
        weights = F.softmax(logits * self.temperature.exp(), -1)
        return weights, kl_divergence(dist, self.prior).sum(-1).mean()

    @torch.no_grad()
    def allocate(self, x):
        return F.softmax(self.encoder(x).mean * self.temperature.exp(), -1)


def market(n, g):
    drift = torch.randn(n, 5, 1, generator=g) * 0.5
    past = drift + 0.5 * torch.randn(n, 5, 8, generator=g)
    future = drift.squeeze(-1) + 0.1 * torch.randn(n, 5, generator=g)
    return past, future


def utility(weights, ret, risk=0.1):
    port = (weights * ret).sum(-1)
    return port.mean() - risk * port.var()


def main():
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(5)
    model = SampledAllocator()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(60):
        past, future = market(128, g)
        weights, kl = model(past)
        loss = -utility(weights, future) + 0.01 * kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 12 == 11:
            print(f"step {step:3d} loss {loss.item():.4f} kl {kl.item():.4f}")
    past, future = market(1000, g)
    print(f"held-out utility {utility(model.allocate(past), future).item():.4f}")


if __name__ == "__main__":
    main()
