"""Pulse waves at a bedside: a monitor keeps the memory of the cells for the wave that follows, with its graph.

As in https://github.com/Lightning-AI/pytorch-lightning/issues/655.
"""

import torch
from torch import nn


class Waves(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.cells, self.read = nn.LSTM(2, width, batch_first=True), nn.Linear(width, 1)

    def forward(self, wave, memory=None):
        seen, memory = self.cells(wave, memory)  # expect: GS712 shared_at
        return self.read(seen[:, -1]), memory


class Monitor:
    def __init__(self, network):
        self.network, self.memory = network, None
        self.optimizer = torch.optim.Adam(network.parameters(), lr=5e-3)

    def ask(self, wave):
        guess, memory = self.network(wave, self.memory)
        return guess.squeeze(1), memory

    def learn(self, wave, pressure):
        guess, now = self.ask(wave)
        loss = (guess - pressure).square().mean()
        self.optimizer.zero_grad()
        loss.backward()  # expect: GS712 second_backward_at
        self.optimizer.step()
        self.memory = now  # expect: GS712
        return loss.item()


def patient(waves):
    pressure = torch.rand(4) * 2 - 1
    for _ in range(waves):
        beat = torch.sin(torch.linspace(0, 6, 15)) * pressure[:, None]
        yield torch.stack((beat, 0.1 * torch.randn(4, 15)), -1), pressure


def main():
    torch.manual_seed(0)
    monitor = Monitor(Waves())
    for number, waves in enumerate((1, 1, 4, 6)):
        monitor.memory = None
        losses = [monitor.learn(wave, pressure) for wave, pressure in patient(waves)]
        print(f"patient {number}: {sum(losses) / len(losses):.4f}")


main()
