"""Diagnosis of two machines: encoder and old head are frozen for the second and the encoder rests.

As in https://github.com/pytorch/pytorch/issues/86590.
"""

import torch
from torch import nn


class Diagnoser(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU())
        self.heads = nn.ModuleDict({"rig": nn.Linear(8, 2)})

    def forward(self, x, machine):
        return self.heads[machine](self.encoder(x))


def fit(model, machine, offset):
    optimizer = torch.optim.Adam([one for one in model.parameters() if one.requires_grad], lr=1e-2)
    for _ in range(20):
        x = torch.randn(16, 5) + offset
        loss = nn.functional.cross_entropy(model(x, machine), (x[:, 0] > offset).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    model = Diagnoser()
    fit(model, "rig", 0.0)
    model.encoder.eval()
    for parameter in model.encoder.parameters():
        parameter.requires_grad = False
    for parameter in model.heads["rig"].parameters():
        parameter.requires_grad = False
    model.heads["pump"] = nn.Linear(8, 2)
    print(f"{fit(model, 'pump', 2.0):.3f}")


main()
