"""Where a protein goes in a cell: its letters are read both ways once an encoder of pairs has learned them.

As in https://github.com/yunjey/pytorch-tutorial/pull/174.
"""

import torch
from torch import nn


def places(letters):
    return place(torch.tanh(reader(letters)[0][:, -1]))  # expect: GS717


torch.manual_seed(0)
pairs = nn.Linear(5, 5)
optimizer = torch.optim.SGD(pairs.parameters(), lr=0.05)
for _ in range(8):
    letters = torch.randn(6, 11, 5)
    loss = (pairs(letters) - letters.roll(1, 2)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

reader, place = nn.RNN(5, 8, batch_first=True, bidirectional=True), nn.Linear(16, 4)
optimizer = torch.optim.SGD([*reader.parameters(), *place.parameters()], lr=0.05)
for _ in range(8):
    letters = torch.randn(6, 11, 5)
    loss = nn.functional.cross_entropy(places(pairs(letters).detach()), torch.randint(4, (6,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
