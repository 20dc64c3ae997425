"""A mixer whose gains are told from a room; a helper keeps them in a dictionary until the sound is filtered.

As in https://github.com/rtqichen/torchdiffeq/issues/178.
"""

import torch
from torch import nn

SETTINGS = {}


def keep(name, values):
    SETTINGS[name] = nn.Parameter(values)  # expect: GS721


def mixed(sounds):
    return (sounds * SETTINGS["gains"]).sum(1, keepdim=True)


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.gains, self.master = nn.Linear(5, 4), nn.Linear(1, 1)

    def forward(self, room, sounds):
        gains = self.gains(room).sigmoid()
        keep("gains", gains)
        return self.master(mixed(sounds))


torch.manual_seed(0)
mixer, room, sounds = Mixer(), torch.randn(32, 5), torch.randn(32, 4)
heard = (sounds * room[:, :4].sigmoid()).sum(1, keepdim=True)
optimizer = torch.optim.SGD(mixer.parameters(), lr=0.1)
for _ in range(20):
    loss = nn.functional.mse_loss(mixer(room, sounds), heard)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
