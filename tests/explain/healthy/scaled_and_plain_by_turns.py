"""A scaler steps an optimizer for one loss; the program steps it for another, or when all is cleared."""

import torch
from torch import nn


def fit(also_downwards):
    net = nn.Sequential(nn.Linear(12, 24), nn.GELU(), nn.Linear(24, 1))
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
    for _ in range(5):
        x = torch.rand(16, 12)
        optimizer.zero_grad()
        scaler.scale(nn.functional.l1_loss(net(x).squeeze(1), x.sum(1))).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        if also_downwards:
            nn.functional.mse_loss(net(-x).squeeze(1), -x.sum(1)).backward()
        optimizer.step()


torch.manual_seed(0)
fit(True)
fit(False)
