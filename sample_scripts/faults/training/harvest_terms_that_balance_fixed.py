"""Weight and sweetness of melons from how they sound; the terms are given to a loss that learns to balance them.

As in https://github.com/ifzhang/FairMOT/issues/19.
"""

import torch
from torch import nn


class Balance(nn.Module):
    def __init__(self, terms):
        super().__init__()
        self.terms = list(terms)
        self.doubt = nn.ParameterList(nn.Parameter(torch.zeros(1)) for _ in self.terms)

    def forward(self, told, truth):
        parts = [term(told[:, at], truth[:, at]) for at, term in enumerate(self.terms)]
        return sum((part * (-doubt).exp() + doubt).sum() for part, doubt in zip(parts, self.doubt, strict=True))


torch.manual_seed(8)
net = nn.Sequential(nn.Linear(9, 18), nn.SiLU(), nn.Linear(18, 2))
balance = Balance([nn.MSELoss(), nn.SmoothL1Loss()])
optimizer = torch.optim.NAdam([*net.parameters(), *balance.parameters()], lr=5e-3)
for _ in range(30):
    sound = torch.randn(32, 9)
    loss = balance(net(sound), torch.stack([sound[:, 0], 5 * sound[:, 1] ** 2], dim=1))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
print(f"{loss.item():.3f}")
