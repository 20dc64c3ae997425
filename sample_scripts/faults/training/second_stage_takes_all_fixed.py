"""Tides: the body is trained first and then rests, and a head for another harbour learns behind it.

As in https://github.com/iamwangyabin/S-Prompts/pull/2.
"""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.ModuleDict({"body": nn.Linear(5, 8), "north": nn.Linear(8, 1), "south": nn.Linear(8, 1)})
hours = torch.randn(64, 5)


def train(harbour, wanted):
    learning = [one for one in model.parameters() if one.requires_grad]
    optimizer = torch.optim.SGD(learning, lr=0.05, momentum=0.9, weight_decay=1e-2)
    for _ in range(12):
        loss = nn.functional.mse_loss(model[harbour](torch.tanh(model["body"](hours))), wanted)
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()
    print(f"{harbour} {loss.item():.4f}")


train("north", hours[:, :1])
for part in ("body", "north"):
    model[part].requires_grad_(False)
train("south", hours[:, 1:2])
