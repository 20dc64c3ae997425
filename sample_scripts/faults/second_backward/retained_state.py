"""A recurrent cell whose graph is retained over steps of the optimizer."""

import torch
from torch import nn

torch.manual_seed(0)
cell, readout = nn.RNNCell(2, 6), nn.Linear(6, 1)
optimizer = torch.optim.Adam([*cell.parameters(), *readout.parameters()])
state = torch.zeros(1, 6)
for x in torch.randn(5, 1, 2):
    state = cell(x, state)  # expect: GS712
    loss = readout(state).square().sum()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)  # expect: GS712 second_backward_at
    optimizer.step()
print("trained")
