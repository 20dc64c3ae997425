"""A recurrent cell that writes each state into one tensor of states, by index."""

import torch
from torch import nn


class Recurrent(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.cell = nn.Linear(width, width)

    def forward(self, x):
        states = torch.zeros(len(x) + 1, x.shape[1])
        for step, row in enumerate(x):
            update = torch.tanh(self.cell(states[step] * 1.5 + row))
            states[step + 1] = update * states[step]  # expect: GS701
        return states[-1]


torch.manual_seed(0)
model = Recurrent(3)
loss = model(torch.randn(4, 3)).sum()
loss.backward()  # expect: GS701 fails_at
print(model.cell.weight.grad.shape)
