"""Sounds named by few labels: a student and its averaged teacher, whose average goes nowhere.

As in https://github.com/YU1ut/MixMatch-pytorch/pull/23.
"""

import copy

import torch
from torch import nn

torch.manual_seed(0)
student = nn.Sequential(nn.Linear(8, 24), nn.Tanh(), nn.Linear(24, 4))
teacher = copy.deepcopy(student).requires_grad_(False)
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
centres = torch.randn(4, 8)


def follow(decay):
    with torch.no_grad():
        for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
            slow.mul_(decay).add_(fast, alpha=1 - decay)


for step in range(40):
    kind = torch.randint(0, 4, (32,))
    sound = centres[kind] + 0.5 * torch.randn(32, 8)
    out = student(sound)
    agreement = (out.softmax(1) - teacher(sound + 0.1 * torch.randn(32, 8)).softmax(1)).pow(2).mean()
    loss = nn.functional.cross_entropy(out, kind) + agreement
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    follow(0.9)
print(f"{loss.item():.4f}")
