"""A reader of fern spores keeps a trunk of old slides at rest in its train(), after the base's woke all of it."""
# as in https://github.com/poppinace/indexnet_matting/issues/35

import torch
from torch import nn


class Slides(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.ModuleDict(
            {
                "wide": nn.Sequential(nn.Linear(9, 12, bias=False), nn.BatchNorm1d(12), nn.Softplus()),
                "deep": nn.Sequential(nn.Linear(12, 12, bias=False), nn.BatchNorm1d(12), nn.Softplus()),
            }
        )
        self.trunk.requires_grad_(False)
        self.kinds = nn.Linear(12, 3)

    def train(self, mode: bool = True):
        nn.Module.train(self, mode)
        for part in self.trunk.values():
            part.eval()
        return self

    def forward(self, spores):
        for part in self.trunk.values():
            spores = part(spores)
        return self.kinds(spores)


class Study(nn.Module):
    """Two readers of one slide, whose opinions are averaged."""

    def __init__(self):
        super().__init__()
        self.readers = nn.ModuleList(Slides() for _ in range(2))

    def forward(self, spores):
        return torch.stack([reader(spores) for reader in self.readers]).mean(0)


torch.manual_seed(0)
study = Study()
optimizer = torch.optim.Adam((one for one in study.parameters() if one.requires_grad), lr=1e-2)
study.train()
for _ in range(20):
    spores = torch.randn(48, 9) * 2 + 1
    optimizer.zero_grad()
    nn.functional.cross_entropy(study(spores), spores[:, :3].argmax(1)).backward()
    optimizer.step()
