"""A sparse regression keeps the parts of its loss in a dictionary, one of them as a number. As in https://github.com/guopengf/FL-MRCM/issues/10."""

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


def objective(model, x, y, price=0.05):
    parts = {
        "fit": (model(x) - y).square().mean(),
        "gates": model.openness().item(),  # expect: GS841
    }
    return parts["fit"] + price * parts["gates"], {name: float(one) for name, one in parts.items()}


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
