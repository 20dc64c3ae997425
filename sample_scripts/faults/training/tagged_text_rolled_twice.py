"""Recurrent model of melodies: `roll` makes the targets, and a step pairs each note with one further on."""

import torch
from torch import nn

NOTES, LENGTH = 14, 18


class Melody(nn.Module):
    def __init__(self, dim=28):
        super().__init__()
        self.notes = nn.Embedding(NOTES, dim)
        self.memory = nn.LSTM(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, NOTES)

    def forward(self, notes):
        return self.out(self.memory(self.notes(notes))[0])


def batch(size):
    first, step = torch.randint(NOTES, (size, 1)), torch.randint(1, 5, (size, 1))
    notes = (first + step * torch.arange(LENGTH)) % NOTES
    targets = notes.roll(-1, 1)
    targets[:, -1] = -100
    return notes, targets


def train(model, optimizer, steps):
    for number in range(1, steps + 1):
        notes, targets = batch(12)
        scores = model(notes)
        loss = nn.functional.cross_entropy(
            scores[:, :-1].transpose(1, 2),
            targets[:, 1:],  # expect: GS845
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if number % 10 == 0:
            print(f"step {number} loss {loss.item():.4f}")


torch.manual_seed(0)
model = Melody()
train(model, torch.optim.Adam(model.parameters(), lr=0.01), 30)
