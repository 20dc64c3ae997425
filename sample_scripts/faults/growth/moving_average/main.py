"""A baseline that is a moving average of the reward, with its graph."""

import torch
from agent import Agent

torch.manual_seed(0)
agent = Agent()
for _ in range(9):
    agent.update(torch.randn(4, 3))
