"""A gradient penalty whose gradient was taken without create_graph: it is added, shown, and teaches nothing."""

import torch
from torch import nn


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, x):
        return self.layers(x)


def gradient_penalty(critic, real, fake):
    mixed = torch.lerp(real, fake, torch.rand(len(real), 1)).requires_grad_()
    score = critic(mixed)
    gradients = torch.autograd.grad(  # expect: GS772
        outputs=score,
        inputs=mixed,
        grad_outputs=torch.ones_like(score),
    )[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean()


torch.manual_seed(0)
critic = Critic()
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
for step in range(3):
    real, fake = torch.randn(8, 2) + 2, torch.randn(8, 2)
    loss = critic(fake).mean() - critic(real).mean()
    penalty = gradient_penalty(critic, real, fake)
    loss = loss + 10.0 * penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
