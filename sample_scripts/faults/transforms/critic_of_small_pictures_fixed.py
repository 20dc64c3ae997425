"""A critic tells drawn pictures from real ones; its slope at pictures in between is held at 1.

As in https://github.com/Zeleni9/pytorch-wgan/issues/40.
"""

import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Conv2d(3, 6, 3, stride=2), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(54, 1))
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))


def penalty(real, drawn):
    share = torch.rand(len(real), 1, 1, 1)
    between = (share * real + (1 - share) * drawn).requires_grad_()
    (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    return (slope.flatten(1).norm(2, dim=1) - 1).square().mean()


for _ in range(5):
    real, drawn = torch.randn(16, 3, 8, 8), torch.rand(16, 3, 8, 8)
    loss = critic(drawn).mean() - critic(real).mean() + 10 * penalty(real, drawn)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
