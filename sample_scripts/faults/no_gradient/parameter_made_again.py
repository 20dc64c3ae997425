"""A parameter is given new values by making a new one."""

import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.gain = nn.Parameter(torch.ones(3))

    def set_gain(self, value):
        self.gain = nn.Parameter(torch.full((3,), value))  # expect: GS727 made_at

    def forward(self, x):
        return self.linear(x) * self.gain


torch.manual_seed(0)
model = Scale()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
model.set_gain(0.5)  # expect: GS727
for _ in range(3):
    loss = model(torch.randn(2, 3)).square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
