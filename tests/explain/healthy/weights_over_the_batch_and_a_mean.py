"""Samples are weighed against each other over the batch, moment by moment, and added up over the batch."""

import torch
from torch import nn

torch.manual_seed(0)
embed, score, head = nn.Linear(5, 8), nn.Linear(8, 1), nn.Linear(8, 5)
optimizer = torch.optim.Adam([*embed.parameters(), *score.parameters(), *head.parameters()])
for _ in range(6):
    x = torch.randn(12, 7, 5)
    h = torch.tanh(embed(x))
    common = (score(h).softmax(0) * h).sum(0)
    loss = nn.functional.mse_loss(head(common), x.mean(0))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
