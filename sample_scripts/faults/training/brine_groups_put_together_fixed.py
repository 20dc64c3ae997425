"""Salt in brine, with a momentum for some parts. As in https://github.com/zjunlp/HVPNeT/issues/5."""

import torch
from torch import nn


class Plant(nn.Module):
    def __init__(self):
        super().__init__()
        self.pumps = nn.Linear(4, 12)
        self.salts = nn.Linear(3, 12)
        self.membrane = nn.Linear(12, 1)

    def forward(self, flows, readings):
        return self.membrane(torch.tanh(self.pumps(flows) + self.salts(readings)))


def fit(plant, rate, steps):
    pumps = {"params": plant.pumps.parameters(), "lr": rate}
    salts = {"params": plant.salts.parameters(), "lr": rate / 2}
    membrane = {"params": plant.membrane.parameters(), "lr": 2 * rate}
    for each in (pumps, membrane):
        each["momentum"] = 0.9
    optimizer = torch.optim.SGD([pumps, salts, membrane], lr=rate)
    for step in range(steps):
        flows, readings = torch.randn(32, 4), torch.randn(32, 3)
        loss = (plant(flows, readings) - flows.sum(1, keepdim=True) - readings[:, :1]).square().mean()
        plant.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
print(f"loss {fit(Plant(), 0.02, 25):.3f}")
