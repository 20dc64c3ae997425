"""Learns which step of a dance comes next, with torch's encoder layers.

As in https://github.com/alex-matton/causal-transformer-decoder/issues/1.
"""

import torch
from torch import nn


class Dance(nn.Module):
    def __init__(self, steps=9, width=16):
        super().__init__()
        self.table, self.place = nn.Embedding(steps, width), nn.Parameter(torch.zeros(32, width))
        self.layer = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(width, steps)

    def forward(self, danced):
        h = self.table(danced) + self.place[: danced.shape[1]]
        return self.head(self.layer(h, nn.Transformer.generate_square_subsequent_mask(h.shape[1])))


torch.manual_seed(0)
dance = Dance()
optimizer = torch.optim.Adam(dance.parameters(), lr=3e-3)
for _ in range(12):
    steps = (torch.randint(9, (16, 1)) + torch.randint(1, 3, (16, 1)) * torch.arange(14)) % 9
    scores = dance(steps[:, :-1])
    loss = nn.functional.cross_entropy(scores.flatten(0, 1), steps[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
