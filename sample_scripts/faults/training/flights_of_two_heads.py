"""Chooses turn and thrust of a drone by two heads, whose logarithms are added; a critic gives the baseline.

As in https://github.com/astariul/encode-attend-navigate-pytorch/issues/2.
"""

import torch
from torch import nn
from torch.distributions import Categorical, Normal

torch.manual_seed(0)


class Pilot(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 16), nn.Tanh())
        self.turn, self.thrust = nn.Linear(16, 3), nn.Linear(16, 1)

    def forward(self, wind):
        seen = self.body(wind)
        turns, thrusts = Categorical(logits=self.turn(seen)), Normal(self.thrust(seen).squeeze(1), 0.3)
        turn, thrust = turns.sample(), thrusts.sample()
        logarithm = turns.log_prob(turn)
        logarithm = logarithm + thrusts.log_prob(thrust)
        return turn - 1.0, thrust, logarithm


def drift(wind, turn, thrust):
    return (wind[:, 0] + turn).abs() + (wind[:, 1] - thrust).square()


pilot = Pilot()
critic = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam([*pilot.parameters(), *critic.parameters()], lr=1e-2)
for flight in range(30):
    wind = torch.randn(48, 3)
    turn, thrust, logarithm = pilot(wind)
    reward = -drift(wind, turn, thrust)
    hoped = critic(wind).squeeze(1)
    advantage = reward - hoped  # expect: GS881
    choosing = -(advantage * logarithm).mean()  # expect: GS881 called_at
    loss = choosing + nn.functional.smooth_l1_loss(hoped, reward)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{reward.mean().item():.3f}")
