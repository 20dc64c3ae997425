"""A code of signals whose cost may not be over a bound for each channel: the multipliers' loss is a method's.

As in https://github.com/mani-skill/ManiSkill/issues/899.
"""

import torch
from torch import nn


class Bounds(nn.Module):
    def __init__(self, channels, bound):
        super().__init__()
        self.raw, self.bound = nn.Parameter(torch.full((channels,), -2.0)), bound

    def weigh(self, costs):
        return torch.dot(self.raw.detach().sigmoid(), costs)  # expect: GS700 used_at

    def own_loss(self, costs):
        return torch.dot(self.raw.sigmoid(), self.bound - costs)  # expect: GS700


torch.manual_seed(1)
encode, decode = nn.Linear(10, 4), nn.Linear(4, 10)
bounds = Bounds(4, 0.2)
optimizer = torch.optim.Adam([*encode.parameters(), *decode.parameters(), *bounds.parameters()], lr=5e-3)
mixed = torch.randn(3, 10)
for _ in range(10):
    signals = torch.randn(32, 3) @ mixed
    code = encode(signals)
    costs = code.square().mean(dim=0)
    optimizer.zero_grad()
    loss = (decode(code) - signals).square().mean() + bounds.weigh(costs)
    (loss + bounds.own_loss(costs)).backward()
    optimizer.step()
