"""Coins redrawn from rubbings: how noisy these are stands in the optimizer of the judge.

As in https://github.com/PKU-YuanGroup/Open-Sora-Plan/issues/314.
"""

import torch
from torch import nn


class Criterion(nn.Module):
    def __init__(self):
        super().__init__()
        self.noise = nn.Parameter(torch.zeros(()))
        self.judge = nn.Sequential(nn.Linear(8, 12), nn.LeakyReLU(0.2), nn.Linear(12, 1))

    def of_pictures(self, drawn, seen):
        return ((drawn - seen).square() / self.noise.exp() + self.noise).mean() - 0.05 * self.judge(drawn).mean()

    def of_judge(self, drawn, seen):
        return (1 - self.judge(seen)).relu().mean() + (1 + self.judge(drawn.detach())).relu().mean()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 12), nn.Tanh(), nn.Linear(12, 8))
criterion = Criterion()
first = torch.optim.Adam(model.parameters(), lr=0.01)
second = torch.optim.Adam(criterion.parameters(), lr=0.01)  # expect: GS748
for _ in range(12):
    seen = torch.randn(16, 8)
    drawn = model(seen + 0.3 * torch.randn(16, 8))
    loss = criterion.of_pictures(drawn, seen)
    first.zero_grad()
    loss.backward()
    first.step()
    judged = criterion.of_judge(drawn, seen)
    second.zero_grad()
    judged.backward()
    second.step()
print(f"loss {loss.item():.3f}")
