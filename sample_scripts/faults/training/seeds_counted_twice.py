"""Counts seeds from their outlines in mixed precision: the scaler came later, and the old step was left where it was.

As in https://github.com/IAHispano/Applio/pull/860.
"""

import torch
from torch import nn


def learn(net, optimizer, scaler, outlines, counts):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        guesses = net(outlines)
    loss = nn.functional.l1_loss(guesses.float().squeeze(1), counts)
    scaler.scale(loss).backward()
    scaler.step(optimizer)  # expect: GS832 shared_at
    scaler.update()
    return loss.item()


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(12, 24), nn.GELU(), nn.Linear(24, 1))
optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
for _ in range(9):
    outlines = torch.rand(16, 12)
    lost = learn(net, optimizer, scaler, outlines, outlines.sum(1).round())
    optimizer.step()  # expect: GS832
print(f"{lost:.3f}")
