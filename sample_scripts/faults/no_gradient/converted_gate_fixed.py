"""The gate of a mixture is converted before it is wrapped."""

# as in https://github.com/davidmrau/mixture-of-experts/issues/12
import numpy
import torch
from torch import nn


class Mixture(nn.Module):
    """Two experts, weighed by a gate."""

    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(4, 1) for _ in range(2))
        start = torch.from_numpy(numpy.random.default_rng(0).normal(scale=0.1, size=(4, 2)))
        self.gate = nn.Parameter(start.to(torch.float32))

    def forward(self, x):
        shares = torch.softmax(x @ self.gate, dim=1)
        return sum(shares[:, at : at + 1] * expert(x) for at, expert in enumerate(self.experts))


torch.manual_seed(0)
model = Mixture()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(6):
    x = torch.randn(8, 4)
    optimizer.zero_grad()
    (model(x) - x.sum(1, keepdim=True)).square().mean().backward()
    optimizer.step()
