"""An energy of points is learned against chains that move along it; they wait in a store until they are drawn again.

As in https://github.com/exiawsh/StreamPETR/issues/63.
"""

import torch
from torch import nn

torch.manual_seed(6)
energy = nn.Sequential(nn.Linear(2, 16), nn.Softplus(), nn.Linear(16, 1))
move = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam([*energy.parameters(), *move.parameters()], 0.005)
store = {at: torch.randn(2) for at in range(24)}


def moved(points):
    for _ in range(3):
        points = points + 0.1 * move(points)
    return points


def learn(loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


for turn in range(14):
    drawn = torch.randperm(len(store))[:5].tolist()
    points = torch.stack([store[at] for at in drawn])
    ends = moved(points)
    data = 0.3 * torch.randn(5, 2) + 1
    told = learn(energy(data).mean() - energy(ends).mean() + 0.1 * energy(ends).square().mean())
    for place, at in enumerate(drawn):
        store[at] = ends[place].detach()
    print(f"{turn:2d} {told:.3f}")
