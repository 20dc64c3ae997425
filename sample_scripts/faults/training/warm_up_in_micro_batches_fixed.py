"""Trainer with a schedule of its own, in the steps that are made.

As in https://github.com/huggingface/diffusers/issues/4387.
"""

import torch
from torch import nn


class Trainer:
    def __init__(self, model, epochs, batches, together):
        self.model, self.epochs, self.batches, self.together = model, epochs, batches, together
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        total = epochs * batches // together
        warm = total // 10
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer,
            lambda step: min((step + 1) / warm, max(0.0, (total - step) / (total - warm))),
        )

    def train(self):
        for _ in range(self.epochs):
            for at in range(self.batches):
                x = torch.randn(8, 4)
                loss = nn.functional.mse_loss(self.model(x), x.sum(1, keepdim=True))
                (loss / self.together).backward()
                if (at + 1) % self.together == 0:
                    self.optimizer.step()
                    self.schedule.step()
                    self.optimizer.zero_grad()
        return loss.item()


torch.manual_seed(0)
print(f"{Trainer(nn.Linear(4, 1), epochs=8, batches=20, together=4).train():.3f}")
