"""A layer that is moved by hand, and held near what it gave before."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
by_hand = nn.Linear(4, 2)
seen = torch.randn(6, 4)
with torch.no_grad():
    first = by_hand(seen)
for _ in range(6):
    loss = F.mse_loss(by_hand(seen), first) + F.cross_entropy(by_hand(seen), seen[:, :2].argmax(1))
    by_hand.zero_grad()
    loss.backward()
    for weight in by_hand.parameters():
        weight.data -= 0.1 * weight.grad
