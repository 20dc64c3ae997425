"""Compartments: the matrix of rates is put together with torch.tensor from what is computed of parameters.

As in https://github.com/pytorch/pytorch/issues/61410.
"""

import torch
from torch import nn


class Compartments(nn.Module):
    def __init__(self):
        super().__init__()
        self.absorb, self.leave = nn.Parameter(torch.tensor(-0.5)), nn.Parameter(torch.tensor(-1.0))
        self.volume = nn.Parameter(torch.tensor(1.0))

    def rates(self):
        absorb, leave = self.absorb.exp(), self.leave.exp()
        return torch.tensor([[-absorb, 0.0],  # expect: GS721
                             [absorb, -leave]])  # fmt: skip

    def forward(self, hours):
        moved = torch.matrix_exp(self.rates() * hours.view(-1, 1, 1)) @ torch.tensor([1.0, 0.0])
        return moved[:, 1] / self.volume

    def told(self):
        return " ".join(f"{one.exp().item():.2f}" for one in self.parameters())


torch.manual_seed(0)
model, hours = Compartments(), torch.linspace(0.1, 6, 12)
print(model.told())
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for _ in range(20):
    loss = (model(hours) - 0.5 * torch.exp(-0.3 * hours)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(model.told())
