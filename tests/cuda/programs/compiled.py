"""A compiled model on the device, forward and backward by Triton's kernels."""

import os

os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"  # warnings come when something is compiled

import torch
from _bits import state
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 8)).cuda()
compiled = torch.compile(model)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
losses = []
for _ in range(10):
    optimizer.zero_grad()
    loss = compiled(torch.randn(32, 64, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses)
print(state(model))
