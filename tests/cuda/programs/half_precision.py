"""Automatic mixed precision with a scaler: an overflow at step 7 is skipped, as without anybody who looks."""

import torch
from _bits import state
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8)).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
scaler = torch.amp.GradScaler("cuda", init_scale=1024.0, growth_interval=5)
scales = []
for step in range(24):
    x = torch.randn(64, 32, device="cuda") * (1e4 if step == 7 else 1.0)
    y = torch.randint(8, (64,), device="cuda")
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", torch.float16):
        loss = nn.functional.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    scales.append(scaler.get_scale())
print(scales)
print(state(model))
