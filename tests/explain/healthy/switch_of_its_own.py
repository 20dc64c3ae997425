"""A perceptual loss whose network has a setting called requires_grad of its own, and is frozen all the same."""

import torch
from torch import nn


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.requires_grad = True  # what forward() goes by
        self.layers = nn.Sequential(nn.Conv2d(1, 8, 3), nn.Tanh(), nn.Conv2d(8, 8, 3))

    def forward(self, x):
        return self.layers(x if self.requires_grad else x.detach())


torch.manual_seed(0)
features = Features().requires_grad_(False)
painter = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64))
optimizer = torch.optim.Adam(painter.parameters(), lr=1e-2)
codes, pictures = torch.randn(16, 4), torch.rand(16, 1, 8, 8)
for _ in range(12):
    painted = painter(codes).view(16, 1, 8, 8)
    loss = (features(painted) - features(pictures)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item() > 0)
