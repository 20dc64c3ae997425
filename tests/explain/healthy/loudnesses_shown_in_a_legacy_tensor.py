"""The loudnesses of a sound learn; a tensor of their numbers is only shown, and one that rests is asked for as well."""

import torch
from torch import nn


class Chord(nn.Module):
    def __init__(self):
        super().__init__()
        self.low = nn.Parameter(torch.rand(1))
        self.high = nn.Parameter(torch.rand(1))
        self.floor = nn.Parameter(torch.zeros(1), requires_grad=False)

    def forward(self, time):
        shown = torch.Tensor([self.low, self.high, self.floor])
        sound = self.low * torch.sin(time) + self.high * torch.sin(2 * time) + self.floor
        return sound, shown


torch.manual_seed(0)
chord = Chord()
optimizer = torch.optim.Adam([one for one in chord.parameters() if one.requires_grad], lr=0.02)
for _ in range(20):
    time = 6 * torch.rand(32)
    sound, shown = chord(time)
    loss = (sound - 0.4 * torch.sin(time)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(shown)
