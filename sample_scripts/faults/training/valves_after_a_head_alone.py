"""Valves by their sound: all layers learn one plant, a new head learns the next alone, then all layers follow there.

As in https://discuss.pytorch.org/t/best-practice-for-freezing-layers/58156.
"""

import torch
from torch import nn


class Listener(nn.Module):
    def __init__(self, kinds):
        super().__init__()
        self.ear = nn.Sequential(nn.Linear(30, 18), nn.Tanh())
        self.naming = nn.Linear(18, kinds)

    def forward(self, sounds):
        return self.naming(self.ear(sounds))


def first_plant(listener, sounds, valves):
    adam = torch.optim.Adam(listener.parameters(), lr=0.01)
    for _ in range(12):
        adam.zero_grad()
        nn.functional.cross_entropy(listener(sounds), valves).backward()
        adam.step()


def next_plant(listener, sounds, valves):
    listener.naming = nn.Linear(18, 3)
    optimizer = torch.optim.SGD(listener.naming.parameters(), lr=0.05)
    for step in range(30):
        if step == 15:
            optimizer = torch.optim.SGD(listener.parameters(), lr=0.05, momentum=0.9)  # expect: GS715 cause_at
        loss = nn.functional.cross_entropy(listener(sounds), valves)
        loss.backward()
        optimizer.step()  # expect: GS715 stepped_at
        optimizer.zero_grad()  # expect: GS715
    return loss.item()


torch.manual_seed(3)
shapes = torch.randn(4, 30)
valves = torch.randint(0, 4, (160,))
sounds = shapes[valves] + 0.5 * torch.randn(160, 30)
listener = Listener(4)
first_plant(listener, sounds, valves)
print(f"loss {next_plant(listener, sounds[valves < 3].flip(1), valves[valves < 3]):.4f}")
