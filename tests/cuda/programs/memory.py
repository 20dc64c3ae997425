"""Memory of the device: the peak, what is alive, and what is left when all is dropped.

All as peaks: the slots for what is measured are 64 KiB.
"""

import gc

import torch
from _bits import state
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
blocks = nn.ModuleList(nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)) for _ in range(6)).cuda()
optimizer = torch.optim.Adam(blocks.parameters(), 1e-4)
peaks = []
for step in range(24):
    torch.cuda.reset_peak_memory_stats()
    optimizer.zero_grad(set_to_none=True)
    x = torch.randn(1024, 512, device="cuda")
    for block in blocks:
        x = x + (checkpoint(block, x, use_reentrant=False) if step % 2 else block(x))
    loss = x.square().mean()
    loss.backward()
    optimizer.step()
    del x, loss
    peaks.append(torch.cuda.max_memory_allocated())
print("peak bytes:", torch.cuda.memory_allocated())
print("peak bytes:", max(peaks[2::2]))
print("peak bytes:", max(peaks[3::2]))
print(state(blocks))
del blocks, optimizer, block
gc.collect()
print("peak bytes:", torch.cuda.memory_allocated())
