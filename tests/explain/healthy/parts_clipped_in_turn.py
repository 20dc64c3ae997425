"""A critic and an actor over one encoder: each is clipped and stepped behind its own backward; the encoder at the end.

What is clipped first gets nothing from the second backward. A bound that nothing reaches asks for the norm alone.
"""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)

encoder = nn.Sequential(nn.Linear(6, 24), nn.Tanh())
actor, critic = nn.Linear(24, 3), nn.Linear(24, 1)
everything = [*encoder.parameters(), *actor.parameters(), *critic.parameters()]
of_encoder, of_actor, of_critic = (torch.optim.Adam(part.parameters(), lr=2e-3) for part in (encoder, actor, critic))
for round_ in range(60):
    seen = torch.randn(32, 6)
    hidden = encoder(seen)
    chosen = torch.distributions.Categorical(logits=actor(hidden))
    action = chosen.sample()
    reward = (action == seen[:, :3].argmax(1)).float()
    value = critic(hidden).squeeze(-1)
    for optimizer in (of_encoder, of_actor, of_critic):
        optimizer.zero_grad()
    F.mse_loss(value, reward).backward(retain_graph=True)
    nn.utils.clip_grad_norm_(critic.parameters(), 0.5)
    of_critic.step()
    (-(chosen.log_prob(action) * (reward - value).detach()).mean()).backward()
    nn.utils.clip_grad_norm_(actor.parameters(), 0.5)
    of_actor.step()
    nn.utils.clip_grad_value_(encoder.parameters(), 0.5)
    of_encoder.step()
    if round_ % 15 == 14:
        norm = nn.utils.clip_grad_norm_(everything, 1e9)
        print(f"round {round_ + 1} reward {reward.mean().item():.3f} norm {norm.item():.3f}")
