"""Gates and scores lie in one tensor; a term that joins late takes the scores alone, and one the gated ones."""

import torch
from torch import nn
from torch.nn import functional

torch.manual_seed(0)
trunk, head = nn.Sequential(nn.Linear(6, 16), nn.Tanh()), nn.Linear(16, 4)
optimizer = torch.optim.Adam([*trunk.parameters(), *head.parameters()], 0.01)
for step in range(30):
    given = torch.randn(10, 6)
    both = head(trunk(given))
    both = torch.cat([both[:, :2].sigmoid(), both[:, 2:]], 1)
    gates, scores = both.chunk(2, 1)
    wanted = (given[:, :2] > 0).float()
    loss = functional.mse_loss(gates, wanted)
    if step >= 12:
        known = wanted[:, 0] > 0
        loss = loss + functional.binary_cross_entropy_with_logits(functional.dropout(scores, 0.1)[known], wanted[known])
    if step >= 20:
        loss = loss + functional.binary_cross_entropy_with_logits(gates * scores, wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
