"""Rain over a map and a day: the trainer of a critic keeps the slope near a wanted length.

As in https://github.com/Zeleni9/pytorch-wgan/issues/40.
"""

import torch
from torch import nn


class Trainer:
    def __init__(self, critic, weight=10.0, wanted=1.0):
        self.critic, self.weight, self.wanted = critic, weight, wanted
        self.optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)

    def held(self, maps):
        maps = maps.clone().requires_grad_(True)
        out = self.critic(maps)
        slope = torch.autograd.grad(out.sum(), maps, create_graph=True)[0]
        excess = torch.linalg.vector_norm(slope, dim=(1, 2, 3)) - self.wanted
        return (excess**2).mean()

    def step(self, seen, drawn):
        self.optimizer.zero_grad()
        loss = (self.critic(drawn) - self.critic(seen)).mean() + self.weight * self.held((seen + drawn) / 2)
        loss.backward()
        self.optimizer.step()
        return loss.item()


torch.manual_seed(2)
hours = 6
critic = nn.Sequential(nn.Conv2d(hours, 4, 3), nn.Softplus(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 1))
trainer = Trainer(critic)
for _ in range(5):
    loss = trainer.step(torch.rand(12, hours, 9, 9), torch.rand(12, hours, 9, 9).square())
print(f"{loss:.3f}")
