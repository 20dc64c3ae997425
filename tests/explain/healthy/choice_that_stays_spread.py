"""What was drawn is made less likely, on purpose: the mean of its logarithm is least where the choice is spread."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
chooses = nn.Linear(2, 3)
optimizer = torch.optim.Adam(chooses.parameters(), lr=1e-3)
for _ in range(6):
    chosen = Categorical(logits=chooses(torch.randn(32, 2)))
    loss = chosen.log_prob(chosen.sample()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
