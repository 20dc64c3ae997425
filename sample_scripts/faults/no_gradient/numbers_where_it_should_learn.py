"""The tension and the slack of a rope are read by one model each; what reads the slack is not asked to learn.

As in https://github.com/huggingface/accelerate/issues/1154.
"""

import torch
from torch import nn


class Reading(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, forces):
        return self.net(forces)


def scaled(values, unit, learns=False):
    """In units of the rope; as numbers alone where nothing is to learn from them."""
    numbers = values.detach()  # expect: GS721 cut_at
    if learns:
        numbers = numbers + (values - values.detach())
    return numbers / unit


torch.manual_seed(0)
tension, slack = Reading(), Reading()
optimizer = torch.optim.Adam([*tension.parameters(), *slack.parameters()], lr=0.01)
for step in range(40):
    forces = torch.randn(32, 5)
    length = forces.square().sum(1, keepdim=True)
    taut = scaled(tension(forces), 2.0, learns=True)
    loose = scaled(slack(forces), 3.0)  # expect: GS721
    loss = (taut + loose - length).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"{step}: {loss.item():.4f}")
