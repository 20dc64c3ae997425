"""The average is copied into the model to be evaluated, and the weights come back as the memory that they were in."""

import torch
from torch import nn


class Average:
    def __init__(self, model):
        self.kept = [p.detach().clone() for p in model.parameters()]

    @torch.no_grad()
    def update(self, model):
        for kept, p in zip(self.kept, model.parameters(), strict=True):
            kept.lerp_(p, 0.1)

    def evaluated(self, model, x):
        live = [p.detach().clone() for p in model.parameters()]
        with torch.no_grad():
            for kept, p in zip(self.kept, model.parameters(), strict=True):
                p.copy_(kept)
            value = (model(x) - x.sum(1, keepdim=True)).abs().mean().item()
        for one, p in zip(live, model.parameters(), strict=True):
            p.data = one
        return value


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
average, optimizer = Average(model), torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(24):
    x = torch.randn(32, 4)
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average.update(model)
    if step % 8 == 7:
        print(f"{step}: {average.evaluated(model, x):.4f}")
