"""A penalty holds a generator that is read into a list at once; a method that goes through it is never called."""

import torch
from torch import nn


class Sparsity:
    def __init__(self, network, wanted):
        self.wanted = wanted
        self.weights = (one for one in network.parameters())
        self.kept = list(self.weights)

    def __call__(self):
        return 1e-3 * sum(one.abs().sum() for one in self.kept)

    def of_the_rest(self):
        return 1e-3 * sum(one.abs().sum() for one in self.weights)


torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :2].sum(1, keepdim=True)
network = nn.Sequential(nn.Linear(8, 8), nn.ELU(), nn.Linear(8, 1))
sparsity = Sparsity(network, wanted=False)
optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
for _ in range(12):
    rest = sparsity.of_the_rest() if sparsity.wanted else 0.0
    loss = nn.functional.mse_loss(network(x), y) + sparsity() + rest
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
