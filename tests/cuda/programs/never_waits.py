"""Thirty steps in which nothing may wait for the device: torch raises an error where somebody does."""

import torch
from _bits import state
from torch import nn

torch.manual_seed(0)
blocks = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 2, enable_nested_tensor=False)
model = nn.Sequential(blocks, nn.LayerNorm(64), nn.Linear(64, 10)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 30)
batches = [(torch.randn(8, 12, 64).pin_memory(), torch.randint(10, (8,)).pin_memory()) for _ in range(5)]
losses = torch.zeros(30, device="cuda")
torch.cuda.synchronize()
torch.cuda.set_sync_debug_mode("error")
for step in range(30):
    inputs, targets = (one.to("cuda", non_blocking=True) for one in batches[step % 5])
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs).mean(1), targets)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    losses[step] = loss.detach()
torch.cuda.set_sync_debug_mode("default")
print(losses.tolist())
print(state(model))
