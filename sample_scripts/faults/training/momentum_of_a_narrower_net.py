"""The network is wider than the one whose checkpoint is loaded: its weights are skipped, the momentum is not."""

# as in https://github.com/VITA-Group/GNT/issues/7
import copy

import torch
from torch import nn


def network(width):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 1))


def fit(net, optimizer, steps):
    for _ in range(steps):
        x = torch.randn(16, 4)
        optimizer.zero_grad()
        (net(x) - x.prod(1, keepdim=True)).square().mean().backward()
        optimizer.step()  # expect: GS853 fails_at


small = network(8)
optimizer = torch.optim.SGD(small.parameters(), lr=0.05, momentum=0.9)
fit(small, optimizer, 4)
checkpoint = copy.deepcopy({"net": small.state_dict(), "optimizer": optimizer.state_dict()})

wide = network(12)
own = wide.state_dict()
wide.load_state_dict(
    {name: one for name, one in checkpoint["net"].items() if one.shape == own[name].shape}, strict=False
)
optimizer = torch.optim.SGD(wide.parameters(), lr=0.05, momentum=0.9)  # expect: GS853
optimizer.load_state_dict(checkpoint["optimizer"])  # expect: GS853 called_at
fit(wide, optimizer, 4)
