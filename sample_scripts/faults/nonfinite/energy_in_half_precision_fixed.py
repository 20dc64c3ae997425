"""A gate over an energy in half precision: one loud batch makes it Inf, which tanh hides, but not its derivative."""

import torch
from torch import nn

torch.manual_seed(0)
gain = nn.Parameter(torch.tensor(2.0))
net = nn.Linear(4, 4)
optimizer = torch.optim.SGD([gain, *net.parameters()], 1e-3)
for step in range(50):
    x = torch.randn(8, 4)
    if step == 21:
        x = x * 1e4
    h = net(x)
    energy = (h * h).float()
    loss = torch.tanh(energy * gain).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
