"""A probe's place is sought by hand where a field is strongest; each move uses all slopes so far.

As in https://github.com/locuslab/fast_adversarial/issues/26.
"""

import torch
from torch import nn

torch.manual_seed(0)
field = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(field.parameters(), lr=0.01)


def strongest(around, moves=5):
    place = around.clone().requires_grad_()
    for _ in range(moves):
        strength = field(place).sum()
        field.zero_grad()
        strength.backward()  # expect: GS801 called_at
        with torch.no_grad():
            place += 0.1 * place.grad  # expect: GS801
    return place.detach()


for _ in range(4):
    around = torch.randn(8, 3)
    measured = around.norm(dim=1, keepdim=True)
    hard = strongest(around)
    loss = (field(around) - measured).square().mean() + field(hard).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
