"""A walker learns from a second network that follows its own slowly, and has one network under two names."""

# as in https://github.com/datawhalechina/easy-rl/issues/140

import torch
from torch import nn


def follow(slow, fast, pace=0.02):
    with torch.no_grad():
        for one, other in zip(slow.parameters(), fast.parameters(), strict=True):
            one.copy_(pace * other + (1 - pace) * one)  # expect: GS831 edited_at


class Walker:
    def __init__(self, critic, device="cpu"):
        self.critic = critic.to(device)
        self.slow_critic = critic.to(device).eval()  # expect: GS831
        self.optimizer = torch.optim.Adam(self.critic.parameters(), lr=1e-2)

    def learn(self, place, gain, following):
        with torch.no_grad():
            wanted = gain + 0.95 * self.slow_critic(following)
        loss = nn.functional.mse_loss(self.critic(place), wanted)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        follow(self.slow_critic, self.critic)


torch.manual_seed(0)
walker = Walker(nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1)))
for step in range(12):
    place = torch.randn(10, 3)
    walker.learn(place, place.sum(1, keepdim=True), place + 0.1 * torch.randn(10, 3))
