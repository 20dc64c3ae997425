"""What is frozen and then replaced on purpose: read in between, told to learn, frozen anew, a head that is to train.

The first three are no hint: the freeze serves an edit in place, or the new parameter says what it is.
"""

import torch
from torch import nn


class Meant(nn.Module):
    def __init__(self):
        super().__init__()
        self.edited, self.told, self.still = nn.Linear(4, 6), nn.Linear(6, 6), nn.Linear(6, 6)
        self.grown = nn.Embedding(3, 4)
        self.body = nn.Sequential(nn.Linear(4, 6), nn.Tanh())
        kernel = torch.randn(6, 6) / 3
        self.edited.weight.requires_grad_(False)
        self.edited.weight[0] = 0.5
        self.edited.weight = nn.Parameter(self.edited.weight.clone())
        self.told.weight.requires_grad = False
        self.told.weight = nn.Parameter(kernel, requires_grad=True)
        self.still.weight.requires_grad = False
        self.still.weight = nn.Parameter(kernel.clone())
        self.still.weight.requires_grad = False
        self.grown.weight.requires_grad_(False)
        self.grown.weight = nn.Parameter(torch.cat([self.grown.weight, torch.randn(2, 4)]))
        self.body.requires_grad_(False)
        self.body[0] = nn.Linear(4, 6)

    def forward(self, x, word):
        h = torch.tanh(self.edited(x + self.grown(word))) + self.body(x)
        return self.still(torch.tanh(self.told(h)))


class Late(nn.Module):
    """A scale that learned in one phase, is frozen at its end, and begins anew in the next."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(6))

    def next_phase(self):
        self.scale.requires_grad = False
        print("kept", self.scale.mean().item())
        self.scale = nn.Parameter(torch.ones(6))

    def forward(self, x):
        return x * self.scale


def train(model, late):
    parameters = [one for one in (*model.parameters(), *late.parameters()) if one.requires_grad]
    optimizer = torch.optim.SGD(parameters, lr=0.05)
    for _ in range(6):
        x, word = torch.randn(8, 4), torch.randint(0, 5, (8,))
        loss = nn.functional.cross_entropy(late(model(x, word)), (x.sum(1) > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())


torch.manual_seed(0)
model, late = Meant(), Late()
train(model, late)
late.next_phase()
train(model, late)
