"""A critic with a gradient penalty, whose body is checkpointed to save memory."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.Softplus(), nn.Linear(32, 32), nn.Softplus())
        self.head = nn.Linear(32, 1)

    def forward(self, x):
        return self.head(checkpoint(self.body, x, use_reentrant=True))  # expect: GS779


def penalty(critic, real, fake):
    share = torch.rand(len(real), 1)
    between = (share * real + (1 - share) * fake).requires_grad_()
    slope = torch.autograd.grad(critic(between).sum(), between, create_graph=True)[0]
    return (slope.norm(dim=1) - 1).square().mean()


torch.manual_seed(0)
critic = Critic()
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
for step in range(5):
    real, fake = torch.randn(16, 4), torch.randn(16, 4) + 1
    real.requires_grad_(), fake.requires_grad_()
    loss = critic(fake).mean() - critic(real).mean() + 10 * penalty(critic, real.detach(), fake.detach())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
