"""A crane learns from its values; later a critic comes with an optimizer that takes the scale of the policy along.

As in https://github.com/PKU-YuanGroup/Open-Sora-Plan/issues/314.
"""

import torch
from torch import nn


class Crane(nn.Module):
    def __init__(self):
        super().__init__()
        self.policy = nn.Linear(4, 2)
        self.scale = nn.Parameter(torch.ones(1, 2))
        self.critic = nn.Linear(4, 1)

    def forward(self, state):
        return self.policy(state) * self.scale


torch.manual_seed(0)
crane = Crane()
actor = torch.optim.Adam([*crane.policy.parameters(), crane.scale], lr=0.01)
critic = None
for step in range(20):
    state = torch.randn(24, 4)
    if step == 6:
        rest = [one for name, one in crane.named_parameters() if not name.startswith(("policy", "scale"))]
        critic = torch.optim.Adam(rest, lr=0.01)
    loss = (crane(state) - state[:, :2]).square().mean()
    actor.zero_grad()
    loss.backward()
    actor.step()
    if critic is not None:
        error = (crane.critic(state).squeeze(1) - state.sum(1)).square().mean()
        critic.zero_grad()
        error.backward()
        critic.step()
print(f"loss {loss.item():.3f}")
