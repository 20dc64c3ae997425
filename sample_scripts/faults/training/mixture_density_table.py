"""Mixture density regression on a table whose likelihood gets worse when the batch size is raised."""
# as in https://github.com/ctallec/world-models/issues/10

import math

import torch
from torch import nn
from torch.distributions import Normal


class MixtureHead(nn.Module):
    def __init__(self, d_in, k):
        super().__init__()
        self.pi = nn.Linear(d_in, k)
        self.mu = nn.Linear(d_in, k)
        self.log_sigma = nn.Linear(d_in, k)

    def forward(self, h):
        logpi = self.pi(h).log_softmax(dim=0)  # expect: GS843
        return logpi, self.mu(h), self.log_sigma(h).clamp(-4, 2).exp()


def nll(logpi, mu, sigma, y):
    return -torch.logsumexp(logpi + Normal(mu, sigma).log_prob(y[:, None]), dim=-1).mean()


def table(n):
    age, income = torch.rand(n), torch.rand(n)
    member = (torch.rand(n) < age).float()
    spend = member * (1.0 + 2.0 * income) - (1 - member) * 0.5 + 0.1 * torch.randn(n)
    return torch.stack([age, income], 1), spend


def build(k=3):
    return nn.Sequential(nn.Linear(2, 32), nn.Tanh(), MixtureHead(32, k))


def fit(batch_size, epochs=8):
    torch.manual_seed(0)
    x, y = table(512)
    model = build()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(epochs):
        for idx in torch.randperm(len(x)).split(batch_size):
            loss = nll(*model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return loss.item()


if __name__ == "__main__":
    for batch_size in (16, 64):
        score = fit(batch_size)
        print(f"batch size {batch_size} nll {score:.3f} log of the batch size {math.log(batch_size):.3f}")
