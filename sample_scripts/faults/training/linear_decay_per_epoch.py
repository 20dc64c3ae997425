"""Decay to zero over all batches, by a schedule of its own that is stepped at the end of each epoch.

As in https://github.com/huggingface/diffusers/issues/4387.
"""

import torch
from torch import nn

EPOCHS, BATCHES = 30, 5


def decayed(optimizer, total_steps):
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.0, 1 - step / total_steps))


torch.manual_seed(0)
model = nn.Linear(5, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = decayed(optimizer, total_steps=EPOCHS * BATCHES)  # expect: GS875
for _ in range(EPOCHS):
    for _ in range(BATCHES):
        x = torch.randn(10, 5)
        loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    scheduler.step()
print(f"{loss.item():.4f}")
