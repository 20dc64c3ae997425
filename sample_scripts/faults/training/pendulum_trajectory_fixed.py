"""A pendulum's law of motion, fitted to whole trajectories that are integrated step by step."""

import torch
from torch import nn


class Law(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))

    def trajectory(self, start, steps, dt):
        places, place = [], start
        for _ in range(steps):
            place = place + dt * self.net(place)
            places.append(place)
        return torch.stack(places, 1)


def truth(start, steps, dt):
    places, (angle, speed) = [], start.unbind(1)
    for _ in range(steps):
        angle, speed = angle + dt * speed, speed - dt * torch.sin(angle)
        places.append(torch.stack((angle, speed), 1))
    return torch.stack(places, 1)


torch.manual_seed(0)
law = Law()
optimizer = torch.optim.Adam(law.parameters(), lr=3e-3)
for epoch in range(25):
    start = torch.randn(32, 2)
    loss = (law.trajectory(start, 20, 0.1) - truth(start, 20, 0.1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
