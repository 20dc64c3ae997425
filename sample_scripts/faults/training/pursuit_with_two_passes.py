"""A runner flees from a pursuer, by an optimizer that shares one length among all steps and meets each gradient twice.

As in https://github.com/kozistr/pytorch_optimizer/pull/528.
"""

import torch
from torch import nn


class Shared(torch.optim.Optimizer):
    def __init__(self, params, lr, maximize=False):
        super().__init__(params, {"lr": lr, "maximize": maximize})

    @torch.no_grad()
    def step(self, closure=None):
        total = torch.zeros(())
        for group in self.param_groups:
            for p in group["params"]:
                grad = self.directed(p, group)  # expect: GS900 modified_at
                total += grad.square().sum()
        for group in self.param_groups:
            for p in group["params"]:
                grad = self.directed(p, group)  # expect: GS900
                p.add_(grad / (total.sqrt() + 1e-8), alpha=-group["lr"])

    def directed(self, p, group):
        return p.grad.neg_() if group["maximize"] else p.grad


torch.manual_seed(0)
runner = nn.Sequential(nn.Linear(2, 12), nn.Tanh(), nn.Linear(12, 2))
optimizer = Shared(runner.parameters(), lr=0.1, maximize=True)
for round in range(16):
    pursuer = torch.randn(32, 2)
    distance = (runner(pursuer).tanh() - pursuer).square().sum(1).mean()
    optimizer.zero_grad()
    distance.backward()
    optimizer.step()
print(f"distance {distance.item():.3f}")
