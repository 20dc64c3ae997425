"""Learns which note follows eight others; long batches are cut into five parts so that they fit into memory.

As in https://github.com/Lightning-AI/pytorch-lightning/issues/12811.
"""

import torch
from torch import nn


class Melody(nn.Module):
    def __init__(self, notes=12, width=24):
        super().__init__()
        self.table = nn.Embedding(notes, width)
        self.cell = nn.GRU(width, width, batch_first=True)
        self.next = nn.Linear(width, notes)

    def forward(self, heard):
        return self.next(self.cell(self.table(heard))[0][:, -1])


def train(melody, heard, follows, updates, parts, rate):
    optimizer = torch.optim.SGD(melody.parameters(), lr=rate, momentum=0.9)
    criterion = nn.NLLLoss()
    for update in range(updates):
        chosen = torch.randperm(len(heard))[:80]
        for rows in chosen.split(80 // parts):
            loss = criterion(melody(heard[rows]).log_softmax(1), follows[rows])
            (loss / parts).backward()
        optimizer.step()
        optimizer.zero_grad()
        if update % 8 == 7:
            print(f"{update + 1:3d}  {loss.item():.3f}")


torch.manual_seed(2)
steps = torch.randint(1, 4, (400, 1)) * torch.arange(9) + torch.randint(12, (400, 1))
scores = steps % 12
train(Melody(), scores[:, :8], scores[:, 8], updates=40, parts=5, rate=2.0)
