"""Remarks of guests, read both ways and told to be glad or not.

As in https://github.com/yunjey/pytorch-tutorial/pull/174.
"""

import torch
from torch import nn


class Mood(nn.Module):
    def __init__(self, words=40, size=12):
        super().__init__()
        self.words = nn.Embedding(words, size)
        self.read = nn.LSTM(size, size, num_layers=2, batch_first=True, bidirectional=True)  # 2 directions
        self.glad = nn.Linear(2 * size, 2)

    def forward(self, remarks):
        _, (last, _) = self.read(self.words(remarks))
        return self.glad(torch.cat([last[-2], last[-1]], dim=1))


torch.manual_seed(0)
mood = Mood()
optimizer = torch.optim.Adam(mood.parameters(), lr=1e-2)
for _ in range(6):
    remarks = torch.randint(40, (8, 9))
    loss = nn.functional.cross_entropy(mood(remarks), (remarks[:, 0] > 20).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
