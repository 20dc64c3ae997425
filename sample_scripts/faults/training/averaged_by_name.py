"""A trainer keeps an exponential average of its net by name, and validates it after each epoch."""

import copy

import torch
from torch import nn


class Average:
    def __init__(self, net, decay):
        self.net, self.decay = copy.deepcopy(net).eval(), decay

    def update(self, net):
        current = dict(net.named_parameters())
        for name, parameter in self.net.named_parameters():  # expect: GS834
            parameter.data.mul_(self.decay).add_(current[name].data, alpha=1 - self.decay)

    @torch.no_grad()
    def accuracy(self, batches):
        return sum((self.net(x).argmax(-1) == y).float().mean().item() for x, y in batches) / len(batches)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 2))
average = Average(net, 0.8)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
batches = [(torch.randn(16, 5) * 2 + 3, torch.randint(2, (16,))) for _ in range(2)]
for epoch in range(6):
    net.train()
    for x, y in batches:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
        average.update(net)
    print(f"epoch {epoch}: {average.accuracy(batches):.2f}")
