"""Gradient norms are logged by a hook that each step registers once more."""

import torch
from torch import nn


class Trainer:
    def __init__(self, model):
        self.model, self.norms = model, []
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        self.watch()

    def watch(self):
        for name, parameter in self.model.named_parameters():
            if name.endswith("weight"):
                parameter.register_hook(lambda gradient: self.norms.append(gradient.norm().item()))

    def step(self, x, y):
        loss = nn.functional.mse_loss(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


torch.manual_seed(0)
trainer = Trainer(nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1)))
for step in range(25):
    x = torch.randn(32, 6)
    loss = trainer.step(x, x.sum(1, keepdim=True))
print(f"loss {loss:.3f}")
