"""An old idiom: a new leaf made of the model's output."""

import torch
from torch import nn

torch.manual_seed(0)
actor, critic = nn.Linear(4, 2), nn.Linear(2, 1)
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=1e-3)
for _ in range(3):
    observation = torch.randn(5, 4)
    action = actor(observation).detach()  # expect: GS724
    action.requires_grad = True  # expect: GS724 masked_by
    loss = -critic(torch.tanh(action)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
