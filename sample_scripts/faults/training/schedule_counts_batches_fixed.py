"""Regression with accumulation, whose schedule is laid out for its steps, one for four batches.

As in https://github.com/huggingface/diffusers/issues/4387.
"""

import math

import torch
from torch import nn

EPOCHS, BATCHES, TOGETHER = 6, 24, 4


def cosine(optimizer, num_warmup_steps, num_training_steps):
    def factor(step):
        if step < num_warmup_steps:
            return (step + 1) / num_warmup_steps
        part = (step - num_warmup_steps) / max(num_training_steps - num_warmup_steps, 1)
        return 0.5 * (1 + math.cos(math.pi * min(part, 1.0)))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = cosine(
    optimizer,
    num_warmup_steps=4,
    num_training_steps=EPOCHS * BATCHES // TOGETHER,
)
for _ in range(EPOCHS):
    for at in range(BATCHES):
        x = torch.randn(8, 3)
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean() / TOGETHER
        loss.backward()
        if (at + 1) % TOGETHER == 0:
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
print(f"{loss.item():.4f}")
