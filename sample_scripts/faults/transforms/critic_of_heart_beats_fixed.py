"""A critic of heart beats whose slope is held by hand: the root of the sum of squares.

As in https://github.com/Zeleni9/pytorch-wgan/issues/40.
"""

import torch
from torch import nn


class Critic(nn.Module):
    def __init__(self, leads=4, width=12):
        super().__init__()
        self.cell = nn.GRU(leads, width, batch_first=True)
        self.score = nn.Linear(width, 1)

    def forward(self, beats):
        return self.score(self.cell(beats)[0][:, -1]).squeeze(1)


def slope_of(critic, beats):
    beats = beats.detach().requires_grad_()
    scores = critic(beats)
    return torch.autograd.grad(scores, beats, torch.ones_like(scores), create_graph=True)[0]


def step(critic, optimizer, real, made):
    slope = slope_of(critic, 0.5 * (real + made))
    length = ((slope**2).sum((1, 2)) + 1e-12).sqrt()
    loss = critic(made).mean() - critic(real).mean() + 5 * ((length - 1) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


torch.manual_seed(1)
critic = Critic()
optimizer = torch.optim.RMSprop(critic.parameters(), lr=1e-3)
for _ in range(5):
    loss = step(critic, optimizer, torch.randn(10, 7, 4), torch.rand(10, 7, 4))
print(f"{loss:.3f}")
