"""PPO whose ratio is computed under no_grad: the entropy bonus alone trains the policy."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
for step in range(12):
    states = torch.randn(64, 4)
    with torch.no_grad():
        old = Categorical(logits=policy(states))
        actions = old.sample()
        old_chances = old.log_prob(actions)
    advantages = (actions == states[:, :3].argmax(1)).float() - 0.3
    for _ in range(2):
        now = Categorical(logits=policy(states))
        with torch.no_grad():  # expect: GS723
            ratio = (now.log_prob(actions) - old_chances).exp()
        clipped = ratio.clamp(0.8, 1.2)
        gain = torch.min(ratio * advantages, clipped * advantages).mean()
        loss = -gain - 0.01 * now.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"rewards {(actions == states[:, :3].argmax(1)).float().mean().item():.3f}")
