"""Buoys: a scaler begins too large, so that a fused optimizer, which steps all the same, leaves the weights alone."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, fused=True)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**126, backoff_factor=2.0**-1)
for step in range(4):
    wave = torch.randn(32, 6)
    loss = 100 * nn.functional.mse_loss(model(wave).squeeze(1), wave[:, 0])
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    print(step, scaler.get_scale())
