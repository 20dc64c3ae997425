"""Views of one scene: a map that compresses them, and a ruler that measures the map by what was compressed before.

As in https://github.com/1Konny/FactorVAE/issues/15.
"""

import torch
from torch import nn


class Compression(nn.Module):
    def __init__(self):
        super().__init__()
        self.map, self.ruler = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2)), nn.Linear(2, 8)

    def compress(self, views):
        self.small = self.map(views)
        return nn.functional.mse_loss(self.ruler(self.small), views)

    def measure(self, views):
        return nn.functional.l1_loss(self.ruler(self.small.detach()), views)


torch.manual_seed(0)
model = Compression()
of_map, of_ruler = (torch.optim.Adam(one.parameters(), lr=0.01) for one in (model.map, model.ruler))
for _ in range(6):
    views = torch.randn(16, 8)
    loss = model.compress(views)
    of_map.zero_grad()
    loss.backward(retain_graph=True)
    of_map.step()
    off = model.measure(views)
    of_ruler.zero_grad()
    off.backward()
    of_ruler.step()
