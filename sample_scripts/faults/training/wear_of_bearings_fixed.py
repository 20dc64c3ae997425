"""Wear of bearings from their vibration: gradients of three batches a step, torch's schedule behind a method.

As in https://github.com/huggingface/accelerate/issues/963.
"""

import torch
from torch import nn


class Trainer:
    def __init__(self, model, updates):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
        self.schedule = torch.optim.lr_scheduler.PolynomialLR(self.optimizer, total_iters=updates)

    def batch(self, number, vibration, wear):
        loss = (self.model(vibration) - wear).abs().mean() / 3
        loss.backward()
        if number % 3 == 2:
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.count()

    def count(self):
        self.schedule.step()


torch.manual_seed(2)
trainer = Trainer(nn.Sequential(nn.Linear(8, 12), nn.SiLU(), nn.Linear(12, 1)), updates=20)
for number in range(60):
    vibration = torch.randn(10, 8)
    trainer.batch(number, vibration, vibration.square().mean(dim=1, keepdim=True))
