"""Two critics with target networks on sampled next actions, behaviour by sample() and the actor by rsample()."""

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal

OBS, ACT, GAMMA, TAU, ALPHA = 3, 2, 0.9, 0.01, 0.02


def mlp(d_in, d_out):
    return nn.Sequential(nn.Linear(d_in, 32), nn.ReLU(), nn.Linear(32, d_out))


class Critics(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = mlp(OBS + ACT, 1), mlp(OBS + ACT, 1)

    def forward(self, obs, act):
        x = torch.cat([obs, act], -1)
        return self.one(x).squeeze(-1), self.two(x).squeeze(-1)


def policy(actor, obs):
    mu, log_std = actor(obs).chunk(2, -1)
    return Normal(mu, log_std.clamp(-4, 1).exp())


def environment(obs, act):
    reward = -(act - obs[:, :ACT].tanh()).pow(2).sum(-1)
    return reward, 0.8 * obs + 0.3 * torch.randn_like(obs)


torch.manual_seed(0)
actor, critics = mlp(OBS, 2 * ACT), Critics()
target_critics = copy.deepcopy(critics).requires_grad_(False)
actor_opt = torch.optim.Adam(actor.parameters(), lr=3e-3)
critic_opt = torch.optim.Adam(critics.parameters(), lr=1e-2)

obs = torch.randn(96, OBS)
for step in range(1, 91):
    act = policy(actor, obs).sample()
    reward, next_obs = environment(obs, act)
    with torch.no_grad():
        pi = policy(actor, next_obs)
        next_act = pi.sample()
        soft = torch.min(*target_critics(next_obs, next_act)) - ALPHA * pi.log_prob(next_act).sum(-1)
        target = reward + GAMMA * soft
    critic_loss = sum(F.mse_loss(q, target) for q in critics(obs, act))
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()

    pi = policy(actor, obs)
    new = pi.rsample()
    actor_loss = (ALPHA * pi.log_prob(new).sum(-1) - torch.min(*critics(obs, new))).mean()
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()
    with torch.no_grad():
        for t, p in zip(target_critics.parameters(), critics.parameters(), strict=True):
            t.lerp_(p, TAU)
    obs = next_obs
    if step % 30 == 0:
        print(f"step {step} reward {reward.mean().item():.3f} critic loss {critic_loss.item():.4f}")
