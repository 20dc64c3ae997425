"""A Q network with a replay buffer and a target network that follows it."""

import copy
import random

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)
q = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
target = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters())
buffer = []
s = torch.randn(4)
for _step in range(24):
    with torch.no_grad():
        a = q(s).argmax().item()
    s2, r = torch.randn(4), torch.randn(())
    buffer.append((s, a, r, s2))
    s = s2
    if len(buffer) >= 4:
        b = random.sample(buffer, 4)
        S = torch.stack([x[0] for x in b])
        A = torch.tensor([x[1] for x in b])
        R = torch.stack([x[2] for x in b])
        S2 = torch.stack([x[3] for x in b])
        y = R + 0.9 * target(S2).max(1).values.detach()
        loss = nn.functional.smooth_l1_loss(q(S).gather(1, A[:, None]).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(q.parameters(), 1.0)
        opt.step()
        for p, t in zip(q.parameters(), target.parameters(), strict=False):
            t.data.mul_(0.9).add_(0.1 * p.data)
