"""Metric learning with a batch-all pairwise distance under AMP that never learns.

Sqrt at the zero diagonal gives a NaN gradient and every step is skipped.

Distances to oneself are masked out afterwards, compare https://github.com/pytorch/pytorch/issues/187297
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

N, D, C = 200, 16, 4
centers = torch.randn(C, D)
labels = torch.randint(0, C, (N,))
feats = centers[labels] + torch.randn(N, D)

net = nn.Sequential(nn.Linear(D, 32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
scaler = torch.amp.GradScaler("cpu")
margin = 2.0


def pairwise(e):
    diff = e[:, None, :] - e[None, :, :]
    return diff.pow(2).sum(-1).sqrt()  # expect: GS731


def contrastive(e, y):
    d = pairwise(e)
    eye = torch.eye(len(y), dtype=torch.bool)
    same = (y[:, None] == y[None, :]) & ~eye
    other = y[:, None] != y[None, :]
    pull = (d * same.float()).sum() / same.sum()
    push = (F.relu(margin - d) * other.float()).sum() / other.sum()
    return pull + push


for step in range(36):
    idx = torch.randperm(N)[:32]
    opt.zero_grad()
    loss = contrastive(net(feats[idx]), labels[idx])
    scaler.scale(loss).backward()
    scaler.step(opt)  # expect: GS822
    scaler.update()
    if step % 9 == 0:
        print(f"step {step}: contrastive loss {loss.item():.4f}")

with torch.no_grad():
    d = pairwise(net(feats)) + torch.eye(N) * 1e6
    print("1-nn accuracy", (labels[d.argmin(1)] == labels).float().mean().item())
