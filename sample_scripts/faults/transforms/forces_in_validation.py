"""Springs of which a net learns the energy; its forward derives the forces, which validation forbids.

As in https://github.com/Lightning-AI/pytorch-lightning/issues/19910.
"""

import torch
from torch import nn


class Springs(nn.Module):
    def __init__(self):
        super().__init__()
        self.energy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, place):
        place = place.detach().requires_grad_()
        energy = self.energy(place).squeeze(-1)
        (slope,) = torch.autograd.grad(energy.sum(), place, create_graph=True)
        return energy, -slope


def validate(model, places):
    with torch.no_grad():  # expect: GS723
        _, force = model(places)
    return nn.functional.l1_loss(force, -places).item()


def main(steps=20):
    torch.manual_seed(0)
    model = Springs()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(steps):
        places = torch.randn(32, 3)
        energy, force = model(places)
        loss = nn.functional.mse_loss(force, -places) + nn.functional.mse_loss(energy, places.pow(2).sum(1) / 2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"error of the forces {validate(model, torch.randn(64, 3)):.3f}")


if __name__ == "__main__":
    main()
