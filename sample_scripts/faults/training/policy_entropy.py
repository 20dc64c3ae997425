"""Policy gradient with illegal actions masked by -inf and an entropy bonus.

Log of exactly 0 poisons the gradient although the loss is finite, no step is ever taken.

The usual torch.where trap, see https://github.com/pytorch/pytorch/issues/52248
"""

import torch
from torch import nn


def make_policy(obs_dim, n_actions):
    return nn.Sequential(nn.Linear(obs_dim, 32), nn.Tanh(), nn.Linear(32, n_actions))


def masked_probs(policy, obs, legal):
    logits = policy(obs).masked_fill(~legal, float("-inf"))
    return torch.softmax(logits, dim=-1)


def entropy(p):
    plogp = torch.where(p > 0, p * torch.log(p), torch.zeros_like(p))  # expect: GS731
    return -plogp.sum(-1).mean()


def rollout(policy, n=64, obs_dim=6, n_actions=5):
    obs = torch.randn(n, obs_dim)
    legal = torch.rand(n, n_actions) > 0.3
    legal[:, 0] = True
    with torch.no_grad():
        actions = torch.multinomial(masked_probs(policy, obs, legal), 1).squeeze(1)
    # the good action is the legal one whose feature is largest
    best = obs[:, :n_actions].masked_fill(~legal, -9.0).argmax(1)
    return obs, legal, actions, (actions == best).float()


def train(n_updates=40, beta=0.01):
    policy = make_policy(6, 5)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu")
    for update in range(n_updates):
        obs, legal, actions, reward = rollout(policy)
        p = masked_probs(policy, obs, legal)
        logp = p.gather(1, actions[:, None]).squeeze(1).log()
        advantage = reward - reward.mean()
        loss = -(advantage * logp).mean() - beta * entropy(p)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)  # expect: GS822
        scaler.update()
        if update % 10 == 9:
            print("update", update + 1, f"loss {loss.item():.4f}", f"reward {reward.mean().item():.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    train()
