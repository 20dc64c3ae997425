"""Which of three birds sings: overlapping bands sum a spectrum, and a layer learns from their logarithms.

The bank of bands is a matrix that is meant to stay. As in https://github.com/eeric/pytorch-LBCNN/issues/1.
"""

import torch
from torch import nn

LINES, BANDS, BIRDS = 40, 8, 3


class Bands(nn.Linear):
    def __init__(self):
        super().__init__(LINES, BANDS, bias=False)
        self.weight.requires_grad = False  # expect: GS917 cause_at
        size = self.weight.shape
        centres = torch.linspace(0, LINES, BANDS + 2)[1:-1, None]
        bank = (1 - (torch.arange(LINES)[None] - centres).abs() / 5).clamp(min=0).view(size)
        del self.weight
        self.register_parameter("weight", nn.Parameter(bank / bank.sum(1, keepdim=True)))  # expect: GS917

    def forward(self, spectrum):
        return torch.log(super().forward(spectrum).clamp(min=1e-4))


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.bands = Bands()
        self.names = nn.Linear(BANDS, BIRDS)

    def forward(self, spectrum):
        return self.names(self.bands(spectrum))


def songs(count):
    bird = torch.randint(0, BIRDS, (count,))
    pitch = 8 + 11 * bird[:, None] + 2 * torch.randn(count, 1)
    return torch.exp(-((torch.arange(LINES)[None] - pitch) ** 2) / 12) + 0.05 * torch.rand(count, LINES), bird


def main():
    torch.manual_seed(1)
    listener = Listener()
    optimizer = torch.optim.SGD(listener.parameters(), lr=0.05, momentum=0.9)
    for step in range(24):
        spectrum, bird = songs(20)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(listener(spectrum), bird)
        loss.backward()
        optimizer.step()
        if step % 6 == 5:
            print(step, round(loss.item(), 3))


main()
