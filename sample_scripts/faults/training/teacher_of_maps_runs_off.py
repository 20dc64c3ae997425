"""A teacher that gives targets for maps without labels is to follow its pupil, and subtracts where it should add.

As in https://github.com/ostris/ai-toolkit/issues/1034.
"""

import copy

import torch
from torch import nn

RATE = 0.1


def follow(teacher, pupil):
    with torch.no_grad():
        for old, new in zip(teacher.parameters(), pupil.parameters(), strict=True):
            old.copy_(old - RATE * (new - old))  # expect: GS907


torch.manual_seed(0)
pupil = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 2, 1))
teacher = copy.deepcopy(pupil).requires_grad_(False)  # expect: GS907 made_at
optimizer = torch.optim.AdamW(pupil.parameters(), lr=3e-3)
maps = torch.rand(24, 1, 8, 8)
water = (maps[:12, 0] > 0.5).long()
for step in range(16):
    known = nn.functional.cross_entropy(pupil(maps[:12]), water)
    target = teacher(maps[12:]).softmax(1)
    unknown = (pupil(maps[12:] + 0.05 * torch.randn(12, 1, 8, 8)).softmax(1) - target).square().mean()
    optimizer.zero_grad()
    (known + 0.3 * unknown).backward()
    optimizer.step()
    follow(teacher, pupil)
print(round(known.item(), 4))
