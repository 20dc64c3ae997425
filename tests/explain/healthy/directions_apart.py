"""A recurrent layer with batch_first whose two directions are told apart by a view, and added: nothing is mixed."""

import torch
from torch import nn

torch.manual_seed(0)
SAMPLES, STEPS, WIDTH = 6, 16, 8
read = nn.GRU(5, WIDTH, batch_first=True, bidirectional=True)
head = nn.Linear(WIDTH, 1)
optimizer = torch.optim.SGD([*head.parameters(), *read.parameters()], lr=0.1)
for _ in range(6):
    sounds = torch.randn(SAMPLES, STEPS, 5)
    hidden, _ = read(sounds)
    both = hidden.view(SAMPLES, STEPS, 2, WIDTH).sum(2)
    loss = nn.functional.mse_loss(head(both)[..., 0], sounds.mean(2).cumsum(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
