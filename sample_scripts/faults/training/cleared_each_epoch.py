"""A batch loop whose gradients are cleared once an epoch."""
# as in https://github.com/salesforce/corr_based_prediction/issues/1

import torch
from torch import nn


def train(model, optimizer, batches):
    model.train()
    optimizer.zero_grad()  # expect: GS801
    total = 0.0
    for x, y in batches:
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(batches)


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
x = torch.randn(400, 6)
batches = [(one, one.sum(1, keepdim=True)) for one in x.split(20)]
for epoch in range(4):
    print(f"epoch {epoch}: {train(model, optimizer, batches):.3f}")
