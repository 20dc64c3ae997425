"""A ferry that learns when to leave; its critic is trained beside it, and is only read for the advantage.

As in https://github.com/PacktPublishing/Deep-Reinforcement-Learning-Hands-On/issues/33.
"""

import torch
from torch import nn

torch.manual_seed(7)
waits = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
actor_steps = torch.optim.Adam(waits.parameters(), lr=1e-2)
critic_steps = torch.optim.Adam(critic.parameters(), lr=1e-2)


@torch.no_grad()
def advantage(harbour, paid):
    better = paid - critic(harbour).detach()  # expect: GS808
    return better.sub(better.mean()).div(better.std() + 1e-5)


def trips():
    for _ in range(30):
        harbour = torch.rand(28, 2)
        law = torch.distributions.Bernoulli(logits=waits(harbour).select(1, 0))
        leaves = law.sample()
        yield harbour, law, leaves, leaves * harbour[:, 0] - 0.3 * leaves + 0.1 * torch.randn(28)


for harbour, law, leaves, paid in trips():
    loss = -(law.log_prob(leaves) * advantage(harbour, paid)).mean() - 0.01 * law.entropy().mean()
    actor_steps.zero_grad()
    loss.backward()
    actor_steps.step()
    critic_loss = (critic(harbour).flatten() - paid).square().mean()
    critic_steps.zero_grad()
    critic_loss.backward()
    critic_steps.step()
print(f"{critic_loss.item():.3f}")
