"""A filter whose taps are a cosine of a learnt frequency; forward puts them in place as a new parameter.

As in https://github.com/pytorch/pytorch/issues/69455.
"""

import torch
from torch import nn

TAPS = 9


class Resonator(nn.Module):
    def __init__(self):
        super().__init__()
        self.frequency = nn.Parameter(torch.tensor([0.9]))
        self.filter = nn.Conv1d(1, 1, TAPS, padding=TAPS // 2, bias=False)

    def forward(self, x):
        places = torch.arange(TAPS) - TAPS // 2
        taps = torch.cos(self.frequency * places) / TAPS
        self.filter.weight = nn.Parameter(taps.view(1, 1, TAPS))  # expect: GS721
        return self.filter(x)


class Echo(nn.Module):
    def __init__(self):
        super().__init__()
        self.resonator = Resonator()
        self.gain = nn.Linear(1, 1)

    def forward(self, x):
        return self.gain(self.resonator(x).transpose(1, 2)).transpose(1, 2)


def waves(generator, batch=16, length=64):
    noise = torch.randn(batch, 1, length, generator=generator)
    places = torch.arange(TAPS) - TAPS // 2
    taps = torch.cos(0.4 * places).view(1, 1, TAPS) / TAPS
    return noise, nn.functional.conv1d(noise, taps, padding=TAPS // 2)


def main(steps=40):
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = Echo()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for step in range(steps):
        noise, wanted = waves(generator)
        loss = nn.functional.mse_loss(model(noise), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
