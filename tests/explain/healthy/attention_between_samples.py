"""Attention that is meant between samples, within windows of as many places as samples, and with time first."""

import torch
from torch import nn

torch.manual_seed(0)
BATCH = 16
windows = nn.MultiheadAttention(8, 2, batch_first=True)
between = nn.MultiheadAttention(8, 2, batch_first=True)
steps = nn.MultiheadAttention(8, 2)
head = nn.Linear(8, 3)
modules = nn.ModuleList([windows, between, steps, head])
optimizer = torch.optim.SGD(modules.parameters(), lr=0.01)
for _ in range(5):
    image = torch.randn(BATCH, 4 * 16, 8)
    label = torch.randint(0, 3, (BATCH,))
    inside = image.view(BATCH * 4, 16, 8)  # windows of sixteen places, of sixteen images
    inside, _ = windows(inside, inside, inside, need_weights=False)
    pooled = inside.reshape(BATCH, 64, 8).mean(1)
    rows, _ = between(pooled[None], pooled[None], pooled[None], need_weights=False)  # samples attend to one another
    series = image[:, :9].transpose(0, 1)
    mixed, _ = steps(series, series, series, need_weights=False)
    loss = nn.functional.cross_entropy(head(rows[0] + mixed[-1]), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
