"""A potential whose angles are found under no_grad: its forces lack their part (materialyzeai/matgl issue 834)."""

import torch
from torch import nn

torch.manual_seed(0)


class Potential(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pairs = nn.Sequential(nn.Linear(8, 24), nn.SiLU(), nn.Linear(24, 1))
        self.triples = nn.Sequential(nn.Linear(2, 24), nn.SiLU(), nn.Linear(24, 1))
        self.register_buffer("centres", torch.linspace(0.4, 3.2, 8))

    @torch.no_grad()  # expect: GS723
    def angles(self, bonds, lengths):
        cosines = (bonds @ bonds.mT) / (lengths[:, :, None] * lengths[:, None, :])
        return torch.stack([cosines, cosines.square()], -1)

    def forward(self, places):
        others = torch.stack([places.roll(shift, 0) for shift in (1, 2, 3)], 1)
        bonds = others - places[:, None]
        lengths = bonds.norm(dim=-1)
        shells = torch.exp(-((lengths[..., None] - self.centres) ** 2))
        return self.pairs(shells).sum() + self.triples(self.angles(bonds, lengths)).sum()


potential = Potential()
optimizer = torch.optim.Adam(potential.parameters(), lr=2e-3)
for step in range(20):
    places = torch.randn(7, 3).mul(1.4).requires_grad_()
    energy = potential(places)
    forces = -torch.autograd.grad(energy, places, create_graph=True)[0]
    loss = (forces + places.detach()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"force error {loss.item():.3f}")
