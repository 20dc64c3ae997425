"""Petals are squeezed to two numbers and drawn again with the same weights, turned around.

As in https://github.com/mead-ml/mead-baseline/pull/397.
"""

import torch
from torch import nn


class Squeezer(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.middle = nn.Linear(8, 2), nn.Parameter(torch.zeros(8))

    def forward(self, petals):
        return nn.functional.linear(torch.tanh(self.down(petals)), self.down.weight.t(), self.middle)


torch.manual_seed(0)
squeezer = Squeezer()
petals = torch.randn(64, 2) @ torch.randn(2, 8)
optimizer = torch.optim.Adam(squeezer.parameters(), lr=1e-2)
for _ in range(40):
    loss = nn.functional.mse_loss(squeezer(petals), petals)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
