"""Experts share data by a gate: the gate's weights, which learn, multiply the logarithms of the experts' densities."""

import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
gate, means = nn.Linear(2, 3), nn.Linear(2, 3)
noise = nn.Parameter(torch.zeros(3))
optimizer = torch.optim.Adam([*gate.parameters(), *means.parameters(), noise], lr=1e-2)
for _ in range(8):
    x = torch.randn(32, 2)
    y = x.sum(1, keepdim=True)
    shares = gate(x).softmax(1)
    densities = Normal(means(x), noise.exp()).log_prob(y)
    hardness = 1 - shares  # a weight of what is not sure
    error = y - means(x).mean(1, keepdim=True)
    loss = -(shares * densities).sum(1).mean() - 0.1 * (hardness * densities).mean() + 0.01 * (error * shares).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
