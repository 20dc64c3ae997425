"""Q-learning on a small grid where the value of the start settles beside the discounted reward."""
# as in https://github.com/datawhalechina/easy-rl/pull/117

import torch
import torch.nn.functional as F
from torch import nn

SIZE, GAMMA = 4, 0.95
MOVES = torch.tensor([[0, 1], [1, 0], [0, -1], [-1, 0]])


def encode(pos):
    return F.one_hot(pos[:, 0] * SIZE + pos[:, 1], SIZE * SIZE).float()


def transitions(n):
    pos = torch.randint(0, SIZE, (n, 2))
    action = torch.randint(0, 4, (n,))
    new = (pos + MOVES[action]).clamp(0, SIZE - 1)
    done = (new == SIZE - 1).all(1).float()
    return encode(pos), action, done.clone(), encode(new), done


class DQNAgent:
    def __init__(self, lr=5e-3):
        self.q_net = nn.Sequential(nn.Linear(SIZE * SIZE, 48), nn.ReLU(), nn.Linear(48, 4))
        self.optimizer = torch.optim.RMSprop(self.q_net.parameters(), lr=lr)

    def td_target(self, reward, next_state, done):
        best_next = self.q_net(next_state).max(1).values
        return reward + GAMMA * best_next * (1 - done)

    def update(self, state, action, reward, next_state, done):
        q = self.q_net(state).gather(1, action[:, None]).squeeze(1)
        target = self.td_target(reward, next_state, done).detach()
        loss = F.smooth_l1_loss(q, target)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(self.q_net.parameters(), 1.0)
        self.optimizer.step()
        return loss.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    agent = DQNAgent()
    for i in range(1, 121):
        loss = agent.update(*transitions(96))
        if i % 30 == 0:
            print(f"update {i} td loss {loss:.5f}")
    with torch.no_grad():
        start = agent.q_net(encode(torch.tensor([[0, 0]]))).max().item()
    print(f"value of the start {start:.3f}, should come to {GAMMA ** (2 * SIZE - 3):.3f}")
