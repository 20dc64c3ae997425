"""Targets are drawn from an iterator, one with each call of a method, which copies it into a buffer."""

import itertools

import torch
from torch import nn


class Targets:
    def __init__(self, generator):
        self.now = torch.zeros(16, 1)
        self.stream = (torch.rand(16, 1, generator=generator) for _ in itertools.count())

    def advance(self):
        for drawn in self.stream:
            self.now.copy_(drawn)
            break


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    targets, model = Targets(generator), nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(20):
        loss = nn.functional.mse_loss(model(torch.randn(16, 4, generator=generator)), targets.now)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        targets.advance()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
