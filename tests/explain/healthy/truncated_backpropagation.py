"""A recurrent state that is detached between stretches."""

import torch
from torch import nn

torch.manual_seed(0)
rnn = nn.LSTM(3, 4, batch_first=True)
head = nn.Linear(4, 1)
o = torch.optim.Adam([*rnn.parameters(), *head.parameters()])
state = None
for _i in range(10):
    out, state = rnn(torch.randn(2, 5, 3), state)
    loss = head(out).pow(2).mean()
    o.zero_grad()
    loss.backward()
    o.step()
    state = tuple(s.detach() for s in state)
