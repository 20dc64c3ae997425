"""PPO that maximises the larger of the clipped and the unclipped gain. As in https://github.com/jvmncs/safe-grid-agents/pull/28."""

import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self, observed=3, actions=4):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(observed, 32), nn.Tanh())
        self.actions, self.value = nn.Linear(32, actions), nn.Linear(32, 1)

    def forward(self, observation):
        hidden = self.body(observation)
        return torch.distributions.Categorical(logits=self.actions(hidden)), self.value(hidden).squeeze(1)


def policy_loss(ratio, advantage, bound=0.2):
    free, held = advantage * ratio, advantage * torch.clamp(ratio, 1 - bound, 1 + bound)
    gain = torch.maximum(free, held)  # expect: GS894
    return -gain.mean()


def update(policy, optimizer, observation, action, old, reward):
    with torch.no_grad():
        advantage = reward - policy(observation)[1]
    for _ in range(4):
        chosen, value = policy(observation)
        ratio = chosen.log_prob(action).exp() / old.exp()
        loss = policy_loss(ratio, advantage) + 0.5 * (value - reward).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return ratio.max().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
    for _ in range(15):
        observation = torch.randn(128, 3)
        with torch.no_grad():
            chosen, _ = policy(observation)
            action = chosen.sample()
            old = chosen.log_prob(action)
        reward = (action == (observation[:, 0] > 0).long()).float()
        widest = update(policy, optimizer, observation, action, old, reward)
    print(f"reward {reward.mean():.2f}, largest ratio {widest:.2f}")
