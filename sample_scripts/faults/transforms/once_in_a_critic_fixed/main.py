"""A critic with a gradient penalty; its activation is a Function of its own."""

import torch
from activation import Swish
from torch import nn


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(2, 8), nn.Linear(8, 1)

    def forward(self, x):
        return self.last(Swish.apply(self.first(x)))


def penalty(critic, x):
    x = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return ((gradient.norm(dim=1) - 1) ** 2).mean()


def main():
    torch.manual_seed(0)
    critic = Critic()
    optimizer = torch.optim.Adam(critic.parameters())
    for step in range(2):
        x = torch.randn(8, 2)
        loss = critic(x).mean() + 10 * penalty(critic, x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item())


main()
