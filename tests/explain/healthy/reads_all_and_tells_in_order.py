"""An encoder sees a whole word, and a cell tells it letter by letter: the labels are what is read, one further on."""

import torch
from torch import nn


class Tells(nn.Module):
    def __init__(self, letters=10, width=16):
        super().__init__()
        self.table = nn.Embedding(letters, width)
        self.reads = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.0, batch_first=True)
        self.cell, self.head = nn.GRU(width, width, batch_first=True), nn.Linear(width, letters)

    def forward(self, letters):
        seen = self.reads(self.table(letters)).mean(1)
        return self.head(self.cell(self.table(letters[:, :-1]), seen.unsqueeze(0))[0])


torch.manual_seed(0)
tells = Tells()
optimizer = torch.optim.Adam(tells.parameters(), lr=3e-3)
for _ in range(8):
    letters = torch.randint(10, (16, 12))
    loss = nn.functional.cross_entropy(tells(letters).transpose(1, 2), letters[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
