"""Weights are set to zero behind their softmax, too: scores were hidden before it, or weights are divided after it."""

import torch
from torch import nn

torch.manual_seed(0)
table, score, value, head = nn.Embedding(12, 8), nn.Linear(8, 1), nn.Linear(8, 8), nn.Linear(16, 2)
optimizer = torch.optim.Adam([p for one in (table, score, value, head) for p in one.parameters()], lr=3e-3)
for _ in range(6):
    words = torch.randint(12, (16, 7))
    hidden, h = (words == 0).unsqueeze(1), table(words)
    scores = score(h).transpose(1, 2)
    safe = scores.masked_fill(hidden, float("-inf")).softmax(-1).masked_fill(hidden, 0.0)
    left = scores.softmax(-1).masked_fill(hidden, 0.0)
    divided = left @ h / (left.sum(-1, keepdim=True) + 1e-6)
    out = torch.cat([safe @ value(h), divided], -1).squeeze(1)
    loss = nn.functional.cross_entropy(head(out), words[:, 0] % 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
