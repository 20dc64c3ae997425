"""A learned model of a pendulum stands in for it, and remembers where it is.

As in https://github.com/pytorch/pytorch/issues/1887.
"""

import torch
from torch import nn


def pendulum(x, push):
    angle, speed = x[:, :1], x[:, 1:]
    speed = speed + 0.1 * (push - torch.sin(angle))
    return torch.cat([angle + 0.1 * speed, speed], 1)


class World:
    def __init__(self, net):
        self.net, self.where = net, {"x": torch.zeros(4, 2)}

    def step(self, push):
        x = self.where["x"]
        change = self.net(torch.cat([x, push], 1))
        self.where["x"] = (x + 0.1 * change).clamp(-3, 3).detach()
        return self.where["x"][:, 0].abs().mean().item()


def main():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 2))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for step in range(24):
        x, push = torch.randn(64, 2), torch.randn(64, 1)
        loss = (x + 0.1 * net(torch.cat([x, push], 1)) - pendulum(x, push)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    world = World(net)
    swings = [world.step(0.5 * torch.randn(4, 1)) for _ in range(360)]
    print(f"{loss.item():.4f} {sum(swings) / 360:.4f}")


main()
