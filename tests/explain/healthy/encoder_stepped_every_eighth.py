"""A head is stepped with each batch and the encoder before it with every eighth, by the losses of all of them.

Their graphs live on purpose until then: a backward comes back to them.
"""

import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(6, 8), nn.Tanh())
head = nn.Linear(8, 1)
steps_head = torch.optim.SGD(head.parameters(), lr=0.05)
steps_encoder = torch.optim.SGD(encoder.parameters(), lr=0.05)
for _ in range(6):
    waiting = []
    for _ in range(8):
        seen = torch.randn(16, 6)
        wanted = seen[:, :1] * seen[:, 1:2]
        code = encoder(seen)
        loss = nn.functional.mse_loss(head(code.detach()), wanted)
        steps_head.zero_grad()
        loss.backward()
        steps_head.step()
        weight = head.weight.detach().clone()
        waiting.append(nn.functional.mse_loss(nn.functional.linear(code, weight), wanted))
    steps_encoder.zero_grad()
    torch.stack(waiting).mean().backward()
    steps_encoder.step()
