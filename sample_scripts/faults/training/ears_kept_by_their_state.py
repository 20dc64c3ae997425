"""Hears moods in voices: the part that hears is to stay as it is, and what is held still are copies out of its state.

As in https://github.com/espnet/espnet/pull/1934.
"""

import torch
from torch import nn


class Moods(nn.Module):
    def __init__(self):
        super().__init__()
        self.ears = nn.Sequential(nn.Linear(8, 20), nn.Tanh())
        self.mood = nn.Linear(20, 4)

    def forward(self, voice):
        return self.mood(self.ears(voice))

    def hold(self, part):
        for name, values in self.state_dict().items():  # expect: GS813
            if name.startswith(part):
                values.requires_grad_(False)  # expect: GS813 called_at
        return [one for one in self.parameters() if one.requires_grad]


torch.manual_seed(0)
moods = Moods()
optimizer = torch.optim.Adam(moods.hold("ears"), lr=1e-2)
for _ in range(9):
    voices = torch.randn(24, 8)
    loss = nn.functional.cross_entropy(moods(voices), voices[:, :4].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
