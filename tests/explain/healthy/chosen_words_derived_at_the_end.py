"""A judge learns in each step; what the chooser chose is kept, with its graph, until the episode ends."""

import torch
from torch import nn

torch.manual_seed(0)
chooser = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 4))
judge = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
choosing = torch.optim.Adam(chooser.parameters(), lr=0.01)
judging = torch.optim.Adam(judge.parameters(), lr=0.01)
for _ in range(3):
    chosen = []
    for _ in range(24):
        seen = torch.randn(1, 3)
        choice = torch.distributions.Categorical(logits=chooser(seen))
        action = choice.sample()
        reward = float(action == 2) + seen[0, 0].item()
        value = judge(seen).squeeze()
        loss = (value - reward).square()
        judging.zero_grad()
        loss.backward()
        judging.step()
        chosen.append(choice.log_prob(action).squeeze() * (reward - value.item()))
    total = -torch.stack(chosen).mean()
    choosing.zero_grad()
    total.backward()
    choosing.step()
    print(f"{total.item():.4f}")
