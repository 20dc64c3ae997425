"""Words of a dialect on a pretrained encoder, which is thawed after some steps: the run is interrupted behind that.

As in https://github.com/Lightning-AI/pytorch-lightning/issues/21901.
"""

import copy

import torch
from torch import nn

THAWED_AT = 5


def build(step):
    model = nn.ModuleDict({"encoder": nn.Embedding(30, 8), "head": nn.Linear(8, 3)})
    model["encoder"].requires_grad_(step > THAWED_AT)
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def train(model, optimizer, first, last):
    for step in range(first, last):
        if step == THAWED_AT:
            model["encoder"].requires_grad_(True)
        words = torch.randint(0, 30, (16, 6))
        loss = nn.functional.cross_entropy(model["head"](model["encoder"](words).mean(dim=1)), words[:, 0] % 3)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(2)
model, optimizer = build(0)
train(model, optimizer, 0, 9)
saved = copy.deepcopy({"step": 9, "model": model.state_dict(), "optimizer": optimizer.state_dict()})

model, optimizer = build(saved["step"])
model.load_state_dict(saved["model"])
optimizer.load_state_dict(saved["optimizer"])
train(model, optimizer, saved["step"], 18)
