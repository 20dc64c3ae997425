"""A helper returns what a penalty is as a number, and its caller adds it to the loss. As in https://github.com/guopengf/FL-MRCM/issues/10."""

import torch
from torch import nn


class Gated(nn.Module):
    def __init__(self, width=10):
        super().__init__()
        self.gate = nn.Parameter(torch.full((width,), 0.5))
        self.body = nn.Sequential(nn.Linear(width, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        return self.body(x * self.gate).squeeze(1)

    def openness(self):
        return self.gate.abs().sum()


def penalty(model):
    total = model.openness()
    return total


def objective(model, x, y):
    fit = (model(x) - y).abs().mean()
    gates = penalty(model)
    loss = fit
    loss = loss + 0.05 * gates
    return loss, (fit.item(), float(gates))


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Gated()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(60):
        x = torch.randn(64, 10)
        loss, parts = objective(model, x, x[:, 0] - x[:, 1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}", parts)
