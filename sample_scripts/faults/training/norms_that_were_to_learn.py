"""A depth network is moved to another camera by its norms alone, and by a scale behind it.

As in https://github.com/microsoft/LoRA/pull/125.
"""

import torch
from torch import nn

MOVED = ("norm", "shift")


class Depth(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv1d(1, 8, 3, padding=1), nn.GroupNorm(2, 8)
        self.last, self.shift = nn.Conv1d(8, 1, 3, padding=1), nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return self.last(self.norm(self.first(x)).relu()) + self.shift


def prepare(network):
    for p in network.parameters():
        p.requires_grad_(False)  # expect: GS716 cause_at
    for name, p in network.named_parameters():
        if any(part in name for part in MOVED):  # expect: GS716
            continue
        p.requires_grad_(False)


torch.manual_seed(1)
network, scale = Depth(), nn.Conv1d(1, 1, 1)
prepare(network)
optimizer = torch.optim.SGD([*network.parameters(), *scale.parameters()], lr=0.01)
for _ in range(20):
    x = torch.randn(8, 1, 24)
    loss = (scale(network(x)) - x.roll(1, 2) - 0.5).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
