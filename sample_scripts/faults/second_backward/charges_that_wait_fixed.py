"""Spikes of sensors, whose charge waits in a store until their next turn. As in https://github.com/norse/norse/issues/130."""

import torch
from torch import nn


class Spiking(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.drive, self.read = nn.Linear(3, width), nn.Linear(width, 1)

    def forward(self, signal, charge):
        level = charge if charge is not None else torch.zeros(len(signal), self.drive.out_features)
        level = 0.9 * level + self.drive(signal)
        return self.read(torch.sigmoid(4 * (level - 1))), level


class Charges:
    def __init__(self):
        self.waiting = {}

    def of(self, sensor):
        return self.waiting.get(sensor)

    def keep(self, sensor, charge):
        if charge.abs().max() < 100:
            self.waiting[sensor] = charge.detach()


def train(model, turns):
    optimizer, charges = torch.optim.Adam(model.parameters(), lr=3e-3), Charges()
    for turn in range(turns):
        sensor = turn % 6
        signal = torch.randn(16, 3) + sensor / 6
        guess, charge = model(signal, charges.of(sensor))
        charges.keep(sensor, charge)
        loss = (guess - signal.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    print(f"loss {train(Spiking(), 40):.3f}")
