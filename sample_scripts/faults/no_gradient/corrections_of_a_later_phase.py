"""A reader of short melodies is trained; then it rests, and small corrections of its layers learn another key.

The corrections are gathered in a list, which becomes an attribute: parameters() does not see them.
As in https://github.com/pytorch/pytorch/issues/38639.
"""

import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self, notes, width):
        super().__init__()
        self.notes = nn.Embedding(notes, width)
        self.steps = nn.ModuleList(nn.Linear(width, width) for _ in range(2))
        self.told = nn.Linear(width, 3)

    def forward(self, melody):
        seen = self.notes(melody).mean(1)
        for step in self.steps:
            seen = torch.tanh(step(seen))
        return self.told(seen)


class Correction(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale, self.turn = nn.Linear(width, 3, bias=False), nn.Linear(3, width)

    def forward(self, step, given, result):
        return result + self.turn(self.scale(given[0]))


def correct(model, width):
    model.requires_grad_(False)
    corrections = []
    for step in model.steps:
        correction = Correction(width)
        step.register_forward_hook(correction)
        corrections.append(correction)
    model.corrections = corrections  # expect: GS725
    model.told.requires_grad_(True)


def train(model, steps, key):
    optimizer = torch.optim.Adam([one for one in model.parameters() if one.requires_grad], lr=1e-2)
    for _ in range(steps):
        melody = torch.randint(12, (32, 6))
        loss = nn.functional.cross_entropy(model(melody), (melody[:, 0] + key) % 3)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(0)
reader = Reader(12, 16)
train(reader, 20, key=0)
correct(reader, 16)
train(reader, 20, key=1)
