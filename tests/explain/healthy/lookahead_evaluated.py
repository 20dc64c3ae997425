"""Lookahead: slow weights follow the fast ones when both are made the same, which are evaluated now and then."""

import torch
from torch import nn


class Lookahead:
    def __init__(self, optimizer, every):
        self.optimizer, self.every, self.count = optimizer, every, 0
        self.weights = [p for group in optimizer.param_groups for p in group["params"]]
        self.slow = [p.detach().clone() for p in self.weights]

    @torch.no_grad()
    def step(self):
        self.optimizer.step()
        self.count += 1
        if self.count % self.every == 0:
            for slow, p in zip(self.slow, self.weights, strict=True):
                slow.lerp_(p, 0.5)
                p.copy_(slow)


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = Lookahead(torch.optim.SGD(model.parameters(), lr=0.1), 2)
for step in range(24):
    x = torch.randn(32, 4)
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    optimizer.optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 8 == 7:
        with torch.no_grad():
            print(f"{step}: {(model(x) - x.sum(1, keepdim=True)).abs().mean().item():.4f}")
