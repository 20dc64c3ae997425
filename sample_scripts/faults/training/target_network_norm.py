"""An actor whose target network is moved by `lerp_`; both have normalised inputs."""

import copy

import torch
from torch import nn


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(6)
        self.body = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, state):
        return self.body(self.norm(state))


def soft_update(target, source, rate):
    with torch.no_grad():
        for moved, toward in zip(target.parameters(), source.parameters(), strict=True):  # expect: GS834
            moved.lerp_(toward, rate)


torch.manual_seed(0)
critic = Critic()
target = copy.deepcopy(critic)
target.eval()
optimizer = torch.optim.Adam(critic.parameters(), 1e-3)
for _ in range(12):
    state, reward, after = torch.randn(16, 6) * 4 + 1, torch.randn(16, 1), torch.randn(16, 6) * 4 + 1
    with torch.no_grad():
        aim = reward + 0.9 * target(after)
    loss = nn.functional.mse_loss(critic(state), aim)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    soft_update(target, critic, 0.05)
print(f"{loss.item():.3f}")
