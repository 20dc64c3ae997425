"""Loudness of an orchestra as the sum of what a small net hears in each group of instruments.

As in https://github.com/asyml/texar-pytorch/issues/72.
"""

import torch
from torch import nn


class Voice(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.hear = nn.GRU(2, width, batch_first=True)
        self.loud = nn.Linear(width, 1)

    def forward(self, notes):
        return self.loud(self.hear(notes)[0][:, -1])


class Together(nn.Module):
    def __init__(self, *voices):
        super().__init__()
        self.voices = [voice for voice in voices]  # noqa: C416  # expect: GS725
        self.hall = nn.Parameter(torch.ones(()))

    def forward(self, scores):
        return self.hall * sum(voice(notes) for voice, notes in zip(self.voices, scores, strict=True))


torch.manual_seed(0)
orchestra = Together(Voice(6), Voice(4))  # expect: GS725 made_at
optimizer = torch.optim.AdamW(orchestra.parameters(), lr=0.01)
for _ in range(20):
    scores = [torch.rand(16, 5, 2) for _ in range(2)]
    loudness = sum(notes[:, -1].prod(1, keepdim=True) for notes in scores)
    loss = nn.functional.mse_loss(orchestra(scores), loudness)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
