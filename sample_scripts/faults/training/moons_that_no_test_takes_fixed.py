"""Tides at some harbours: matrices are given another rate than biases, the curve of each moon is forgotten.

As in https://github.com/bubbliiiing/efficientdet-pytorch/issues/37.
"""

import torch
from torch import nn


class Tides(nn.Module):
    def __init__(self, harbours, moons):
        super().__init__()
        self.phases = nn.Parameter(torch.zeros(moons, 1, harbours))
        self.winds = nn.Linear(4, 16)
        self.levels = nn.Linear(16, harbours)

    def forward(self, winds, times):
        curve = torch.sin(times[:, None] + self.phases).sum(0)
        return self.levels(torch.tanh(self.winds(winds))) + curve


def groups_of(model, rate):
    groups = {"matrices": [], "offsets": []}
    for name, tensor in model.named_parameters():
        if not tensor.requires_grad:
            continue
        if tensor.ndim == 2:
            groups["matrices"].append(tensor)
        else:
            groups["offsets"].append(tensor)
    return [{"params": groups["matrices"], "lr": rate}, {"params": groups["offsets"], "lr": 2 * rate}]


def main():
    torch.manual_seed(0)
    model = Tides(harbours=3, moons=2)
    optimizer = torch.optim.Adam(groups_of(model, 0.01))
    for step in range(30):
        winds, times = torch.randn(24, 4), torch.rand(24) * 6.3
        level = winds[:, :3] + torch.sin(times + 0.8)[:, None]
        loss = (model(winds, times) - level).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            print(f"{step}: {loss.item():.4f}")


main()
