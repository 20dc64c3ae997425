"""A2C on a drifting point whose critic and rewards trail a little behind those of another code base."""
# as in https://github.com/Farama-Foundation/Gymnasium/issues/1494

import torch
import torch.nn.functional as F
from torch import nn

STEPS, ENVS, GAMMA = 8, 32, 0.9


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 32), nn.Tanh())
        self.pi = nn.Linear(32, 3)
        self.v = nn.Linear(32, 1)

    def forward(self, obs):
        h = self.body(obs)
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


class PointEnvs:
    """The point is to be held at 0 against a drift"""

    def __init__(self):
        self.state = torch.randn(ENVS, 2)

    def step(self, action):
        pos, drift = self.state.unbind(1)
        pos = pos + 0.2 * drift + 0.4 * (action - 1)
        self.state = torch.stack([pos.clamp(-3, 3), drift], 1)
        return -self.state[:, 0].abs()


def n_step_targets(rewards, bootstrap):
    targets = []
    ret = bootstrap
    for r in reversed(rewards):
        ret = r + GAMMA * ret
        targets.append(ret)
    return torch.stack(targets[::-1])


torch.manual_seed(0)
net = ActorCritic()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
envs = PointEnvs()
for update in range(1, 61):
    rewards, values, logps, entropies = [], [], [], []
    for _ in range(STEPS):
        dist, value = net(envs.state)
        action = dist.sample()
        rewards.append(envs.step(action))
        values.append(value)
        logps.append(dist.log_prob(action))
        entropies.append(dist.entropy())
    values = torch.stack(values)
    targets = n_step_targets(rewards, net(envs.state)[1].detach())
    advantage = (targets - values).detach()
    value_loss = F.mse_loss(values, targets)
    policy_loss = -(advantage * torch.stack(logps)).mean()
    loss = policy_loss + 0.5 * value_loss - 0.01 * torch.stack(entropies).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    optimizer.step()
    if update % 15 == 0:
        print(f"update {update} reward {torch.stack(rewards).mean():.3f} value loss {value_loss.item():.4f}")
