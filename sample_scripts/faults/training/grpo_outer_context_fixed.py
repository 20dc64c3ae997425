"""Group-relative policy optimisation of a bandit whose ratio is always 1 and whose KL to the old policy stays 0."""
# as in https://github.com/X-GenGroup/Flow-Factory/pull/186

import copy
from functools import partial

import torch
from torch import nn


class GRPOTrainer:
    def __init__(self, policy, lr=5e-3, inner_steps=6, clip=0.2, beta=0.02):
        self.policy = policy
        self.ref = copy.deepcopy(policy).requires_grad_(False)
        self.optimizer = torch.optim.Adam(policy.parameters(), lr=lr)
        self.inner_steps, self.clip, self.beta = inner_steps, clip, beta
        self.autocast = partial(torch.autocast, "cpu", torch.bfloat16)

    @staticmethod
    def logp(net, obs, actions):
        return net(obs).float().log_softmax(-1).gather(-1, actions)

    @torch.no_grad()
    def collect(self, n=48, group=8):
        obs = torch.randn(n, 6)
        with self.autocast():
            probs = self.policy(obs).float().softmax(-1)
            actions = torch.multinomial(probs, group, replacement=True)
            old = self.logp(self.policy, obs, actions)
        reward = (actions == obs[:, :4].argmax(1, keepdim=True)).float()
        advantage = (reward - reward.mean(1, keepdim=True)) / (reward.std(1, keepdim=True) + 1e-4)
        return obs, actions, old, advantage, reward.mean().item()

    def optimize(self, obs, actions, old, advantage):
        for _ in range(self.inner_steps):
            with self.autocast():
                logp = self.logp(self.policy, obs, actions)
                ref = self.logp(self.ref, obs, actions)
                ratio = (logp - old).exp()
                clipped = ratio.clamp(1 - self.clip, 1 + self.clip)
                kl = ((ref - logp).exp() - (ref - logp) - 1).mean()
                loss = self.beta * kl - torch.min(ratio * advantage, clipped * advantage).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return (ratio - 1).abs().max().item(), kl.item()

    def run(self, rounds):
        for r in range(rounds):
            *batch, reward = self.collect()
            drift, kl = self.optimize(*batch)
            print(f"round {r} reward {reward:.3f} ratio drift {drift:.4f} kl {kl:.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    GRPOTrainer(nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 4))).run(8)
