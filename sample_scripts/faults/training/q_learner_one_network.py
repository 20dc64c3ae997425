"""Q learning on a line of cells, with a second network for the targets."""
# as in https://github.com/datawhalechina/easy-rl/pull/117

import random

import torch
from torch import nn

CELLS = 7


class Learner:
    def __init__(self, network):
        self.online = network
        self.target = network  # expect: GS830
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=1e-2)

    def learn(self, state, action, reward, following):
        with torch.no_grad():
            best = reward + 0.9 * self.target(following).max(dim=1).values
        value = self.online(state).gather(1, action[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(value, best)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def synchronise(self):
        self.target.load_state_dict(self.online.state_dict())


random.seed(0)
torch.manual_seed(0)
learner = Learner(nn.Sequential(nn.Linear(CELLS, 16), nn.Tanh(), nn.Linear(16, 2)))
cells = torch.eye(CELLS)
for step in range(24):
    place = torch.tensor([random.randrange(CELLS - 1) for _ in range(12)])
    action = torch.randint(2, (12,))
    following = (place + 2 * action - 1).clamp(0, CELLS - 1)
    loss = learner.learn(cells[place], action, (following == CELLS - 1).float(), cells[following])
    if step % 6 == 5:
        learner.synchronise()
print(f"{loss:.4f}")
