"""A network learns what another one, which rests, says of places: its table and its layer were frozen in name only.

The resting one works on the places itself, as that of random network distillation does; no optimizer is meant for it.
"""

import torch
from torch import nn


class Places(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(20, 8))
        self.layer = nn.Linear(8, 4)

    def forward(self, places):
        return self.layer(torch.tanh(self.table[places]))


torch.manual_seed(0)
resting, learning = Places().eval(), Places()
optimizer = torch.optim.Adam(learning.parameters(), lr=1e-2)
for _ in range(12):
    places = torch.randint(20, (16,))
    loss = (learning(places) - resting(places)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
