"""A critic learns the returns of episodes, which were summed up in plain Python numbers and put into an array."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def episode(length):
    return [torch.randn(4) for _ in range(length)], [float(reward) for reward in torch.rand(length)]


def returns(rewards, discount=0.9):
    total, found = 0.0, np.zeros(len(rewards))
    for at in reversed(range(len(rewards))):
        total = rewards[at] + discount * total
        found[at] = total
    return torch.as_tensor(found)  # expect: GS713 made_at


class Critic:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=0.01)

    def learn(self, states, rewards):
        target = returns(rewards)
        target = (target - target.mean()) / (target.std() + 1e-6)
        value = self.net(torch.stack(states)).squeeze(-1)
        loss = F.huber_loss(value, target, reduction="none").mean()  # expect: GS713
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    torch.manual_seed(6)
    critic = Critic()
    for number in range(3):
        print(f"episode {number} loss {critic.learn(*episode(12)):.3f}")


if __name__ == "__main__":
    main()
