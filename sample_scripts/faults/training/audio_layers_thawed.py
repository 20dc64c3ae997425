"""Layers of an audio net are thawed from the top, one each phase, with the first phase's optimizer."""
# as in https://github.com/fastai/fastai/issues/2133

import torch
from torch import nn

torch.manual_seed(0)
layers = nn.ModuleList(nn.Linear(20, 20) for _ in range(2))
head = nn.Linear(20, 5)
net = nn.ModuleDict({"layers": layers, "head": head})
for parameter in layers.parameters():
    parameter.requires_grad = False


def forward(sound):
    for layer in layers:
        sound = layer(sound).relu()
    return head(sound)


def train(optimizer, steps):
    for _ in range(steps):
        sound, label = torch.randn(8, 20), torch.randint(5, (8,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(forward(sound), label).backward()
        optimizer.step()


optimizer = torch.optim.Adam(head.parameters(), 1e-3)
train(optimizer, 10)
for parameter in layers[1].parameters():
    parameter.requires_grad = True  # expect: GS815
train(optimizer, 25)
print(f"{forward(torch.randn(8, 20)).mean().item():.3f}")
