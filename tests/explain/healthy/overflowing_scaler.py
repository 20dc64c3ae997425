"""A GradScaler whose scale starts too large: the first gradients overflow on purpose, in steps that accumulate two."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2))
with torch.no_grad():
    model[0].weight.mul_(1e-5)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-8)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127, backoff_factor=2.0**-8)
for step in range(6):
    for _ in range(2):
        loss = nn.functional.cross_entropy(model(1e5 * torch.randn(4, 4)), torch.randint(2, (4,))) / 2
        scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    print(step, scaler.get_scale())
