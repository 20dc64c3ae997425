"""Q-learning from a replay buffer: the value of the action that was taken."""

import torch
from torch import nn


class Buffer:
    def __init__(self, size):
        self.states = torch.randn(size, 4)
        self.actions = torch.randint(0, 3, (size,))
        self.rewards = self.states[torch.arange(size), self.actions]

    def sample(self, count):
        at = torch.randint(0, len(self.states), (count,))
        return self.states[at], self.actions[at], self.rewards[at]


def main():
    torch.manual_seed(0)
    buffer = Buffer(200)
    q = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 3))
    optimizer = torch.optim.Adam(q.parameters(), lr=1e-2)
    for step in range(20):
        states, actions, rewards = buffer.sample(32)
        values = q(states).gather(1, actions)  # expect: GS867
        loss = nn.functional.smooth_l1_loss(values, rewards)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"step {step} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
