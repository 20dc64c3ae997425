"""Regression whose schedule counts batches and is stepped once for each epoch: all of the run is its warm-up.

When to step such a schedule is asked in https://github.com/ildoonet/pytorch-gradual-warmup-lr/issues/22.
"""

import torch
from torch import nn
from torch.optim.lr_scheduler import LinearLR

EPOCHS, BATCHES = 6, 12


def batches():
    for _ in range(BATCHES):
        x = torch.randn(32, 6)
        yield x, torch.sin(x).sum(1, keepdim=True)


class Trainer:
    def __init__(self, model, lr=5e-3):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.schedule = LinearLR(self.optimizer, 0.02, 1.0, total_iters=EPOCHS * BATCHES // 2)

    def epoch(self):
        total = 0.0
        for x, y in batches():
            loss = nn.functional.mse_loss(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.schedule.step()
            total += loss.item()
        return total / BATCHES


torch.manual_seed(0)
trainer = Trainer(nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1)))
for epoch in range(EPOCHS):
    print(f"epoch {epoch} loss {trainer.epoch():.4f}")
