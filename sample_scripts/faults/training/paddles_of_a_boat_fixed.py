"""Tells the speed of a boat from the strokes of its paddles; the loss is handed on by a function for all tasks.

As in https://solofox.github.io/torch/broadcasting/2025/12/07/torch-broadcasting-trap.html.
"""

import torch
from torch import nn


def cauchy(guess, measured, width=0.5):
    ratio = (measured - guess) / width
    return torch.log1p(ratio.square()).mean()


class Objective(nn.Module):
    def __init__(self, decay):
        super().__init__()
        self.decay = decay

    def forward(self, guess, measured, weights):
        held = sum(weight.square().sum() for weight in weights)
        return cauchy(guess, measured=measured) + self.decay * held


torch.manual_seed(0)
net = nn.Sequential(nn.Conv1d(1, 4, 5, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 14, 1))
objective = Objective(1e-4)
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(25):
    pace = torch.rand(40) + 0.5
    strokes = torch.sin(pace[:, None] * torch.arange(32)) + 0.1 * torch.randn(40, 32)
    guess = net(strokes.unsqueeze(1))
    loss = objective(guess.squeeze(1), pace, list(net.parameters()))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
