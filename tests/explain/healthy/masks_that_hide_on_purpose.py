"""Masks that look turned around and are not: a dropout of keys, and what is quiet is hidden."""

import torch
from torch import nn

torch.manual_seed(0)
inward, out = nn.Linear(4, 16), nn.Linear(16, 1)
first, second = nn.MultiheadAttention(16, 2, batch_first=True), nn.MultiheadAttention(16, 2, batch_first=True)
modules = nn.ModuleList([inward, out, first, second])
optimizer = torch.optim.Adam(modules.parameters(), lr=3e-3)
for _ in range(25):
    frames, padded = torch.randn(32, 12, 4), torch.randint(0, 6, (32, 1))
    hidden = inward(frames)
    dropped = torch.rand(32, 12) < 0.2
    hidden = hidden + first(hidden, hidden, hidden, key_padding_mask=dropped)[0]
    quiet = frames[..., 1] < -1
    quiet = quiet & (frames[..., 2] != 0)
    hidden = hidden + second(hidden, hidden, hidden, key_padding_mask=quiet)[0]
    told = torch.arange(12)[None] >= padded
    loss = ((out(hidden).squeeze(2) - frames[..., 0]).square() * told).sum() / told.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
