"""Clusters learn from what they have seen: the logarithm of a cluster's share is added to that of its density."""

import torch
from torch import nn
from torch.distributions import Categorical, Normal

torch.manual_seed(0)
shares, middles = nn.Parameter(torch.zeros(())), nn.Linear(2, 1)
policy, critic = nn.Linear(2, 3), nn.Linear(2, 1)
parameters = [shares, *middles.parameters(), *policy.parameters(), *critic.parameters()]
optimizer = torch.optim.Adam(parameters, lr=1e-2)
for _ in range(8):
    x = torch.randn(32, 2)
    y = x.sum(1)
    joint = shares + Normal(middles(x).squeeze(1), 1.0).log_prob(y)
    missed = y - middles(x).squeeze(1)  # where it misses most, the joint density counts for more
    choices = Categorical(logits=policy(x))
    first, second = choices.sample(), choices.sample()
    logarithm = choices.log_prob(first) + choices.log_prob(second)
    advantage = (first + second + y) - critic(x).squeeze(1)
    loss = -(joint * missed).mean() - (logarithm * advantage.detach()).mean() + advantage.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
