"""Two heads on one encoder, each with an optimizer and a backward of its own; the encoder's step uses both."""

import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(6, 12), nn.ReLU())
first, second = nn.Linear(12, 3), nn.Linear(12, 1)
of_first = torch.optim.SGD(first.parameters(), lr=0.1)
of_second = torch.optim.SGD(second.parameters(), lr=0.1)
of_encoder = torch.optim.SGD(encoder.parameters(), lr=0.1)
for _ in range(6):
    x = torch.randn(16, 6)
    of_first.zero_grad()
    nn.functional.cross_entropy(first(encoder(x)), torch.randint(3, (16,))).backward()
    of_first.step()
    of_second.zero_grad()
    second(encoder(x)).square().mean().backward()
    of_second.step()
    of_encoder.step()
    of_encoder.zero_grad()
