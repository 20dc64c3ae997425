"""Tells gestures by six sensors over 24 moments: the moments are to be the tokens of a transformer.

As in https://github.com/vitrioil/Speech-Separation/issues/4.
"""

import torch
from torch import nn


class Gestures(nn.Module):
    def __init__(self, sensors=6, width=16):
        super().__init__()
        self.embed = nn.Linear(sensors, width)
        self.block = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(width, 3)

    def forward(self, signals):
        tokens = self.embed(signals.transpose(1, 2))
        return self.head(self.block(tokens).mean(1))


torch.manual_seed(0)
gestures = Gestures()
optimizer = torch.optim.Adam(gestures.parameters(), lr=3e-3)
for step in range(12):
    kinds = torch.randint(3, (32,))
    signals = torch.randn(32, 6, 24)
    signals[torch.arange(32), kinds] += 1.0
    loss = nn.functional.cross_entropy(gestures(signals), kinds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
