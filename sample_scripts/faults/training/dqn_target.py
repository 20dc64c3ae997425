"""Small DQN on random transitions of a chain with a target network synced every 10 updates.

Target and policy are the same object, so the target moves at every step.

Like in https://github.com/datawhalechina/easy-rl/issues/140
"""

import torch
import torch.nn.functional as F
from torch import nn

N_STATES, N_ACTIONS, GAMMA = 8, 2, 0.9


def build_q():
    return nn.Sequential(nn.Linear(N_STATES, 32), nn.ReLU(), nn.Linear(32, N_ACTIONS))


class Agent:
    def __init__(self, model, lr=0.01, sync_every=10):
        self.policy_net = model
        self.target_net = model  # expect: GS830
        self.target_net.eval()
        self.optimizer = torch.optim.Adam(self.policy_net.parameters(), lr=lr)
        self.sync_every = sync_every
        self.updates = 0

    def update(self, s, a, r, s2, done):
        q = self.policy_net(s).gather(1, a[:, None]).squeeze(1)
        with torch.no_grad():
            q_next = self.target_net(s2).max(1).values
        target = r + GAMMA * q_next * (1 - done)
        loss = F.smooth_l1_loss(q, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1
        if self.updates % self.sync_every == 0:
            self.target_net.load_state_dict(self.policy_net.state_dict())
        return loss.item()


def sample(n=64):
    """walk on a chain, reward 1 at the right end"""
    pos = torch.randint(0, N_STATES - 1, (n,))
    a = torch.randint(0, N_ACTIONS, (n,))
    new = (pos + 2 * a - 1).clamp(min=0)
    done = (new == N_STATES - 1).float()
    return F.one_hot(pos, N_STATES).float(), a, done.clone(), F.one_hot(new, N_STATES).float(), done


def main():
    torch.manual_seed(0)
    agent = Agent(build_q())
    for i in range(40):
        loss = agent.update(*sample())
        if i % 10 == 9:
            print(f"update {i + 1} td loss {loss:.5f}")
    with torch.no_grad():
        print("greedy:", agent.policy_net(torch.eye(N_STATES)).argmax(1).tolist())


main()
