"""After a warm-up each update takes three parts, whose gradients the program adds up by itself before it clears them;
a last stretch skips what is too steep, now and then."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 12), nn.Tanh(), nn.Linear(12, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
sums = [torch.zeros_like(one) for one in model.parameters()]


def learn():
    optimizer.zero_grad()
    x = torch.randn(8, 4)
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    loss.backward()
    return loss.item()


for update in range(34):
    for _ in range(1 if update < 12 else 3):
        learn()
        if update >= 12:
            for total, one in zip(sums, model.parameters(), strict=True):
                total.add_(one.grad / 3)
    if update >= 12:
        for total, one in zip(sums, model.parameters(), strict=True):
            one.grad = total.clone()
            total.zero_()
    optimizer.step()
