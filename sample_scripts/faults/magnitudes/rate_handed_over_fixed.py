"""Fits a line by gradient descent; the rate is handed from one function to the next."""
# as in https://github.com/gurkirt/FPN.pytorch1.0/issues/7

import torch
from torch import nn

CONFIGURATION = {"steps": 80, "rate": 0.02}


def optimizer_of(model, rate):
    return torch.optim.SGD(model.parameters(), lr=rate, momentum=0.8)


def fit(model, x, y, steps, rate=0.01):
    optimizer = optimizer_of(model, rate)
    for _ in range(steps):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
x = torch.randn(64, 6)
found = fit(nn.Linear(6, 1), x, x.sum(1, keepdim=True), CONFIGURATION["steps"], rate=CONFIGURATION["rate"])
print(f"loss {found:.3f}")
