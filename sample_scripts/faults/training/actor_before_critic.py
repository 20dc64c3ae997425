"""Actor and critic of a control task: the actor's loss goes through the critic, which is updated after it."""

import torch
from torch import nn


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.value = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, state, action):
        return self.value(torch.cat([state, action], dim=1))


def update_actor(actor, critic, optimizer, state):
    loss = -critic(state, actor(state)).mean()
    optimizer.zero_grad()
    loss.backward()  # expect: GS849 cause_at
    optimizer.step()


def update_critic(critic, optimizer, state, action, reward):
    loss = nn.functional.mse_loss(critic(state, action), reward)
    loss.backward()  # expect: GS849 used_at
    optimizer.step()
    optimizer.zero_grad()  # expect: GS849


torch.manual_seed(0)
actor, critic = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2), nn.Tanh()), Critic()
for_actor = torch.optim.Adam(actor.parameters(), lr=1e-3)
for_critic = torch.optim.Adam(critic.parameters(), lr=1e-3)
for _ in range(8):
    state, action, reward = torch.randn(16, 3), torch.rand(16, 2) * 2 - 1, torch.randn(16, 1)
    update_actor(actor, critic, for_actor, state)
    update_critic(critic, for_critic, state, action, reward)
