"""A writer of codes and a listener that tells noise from them; the listener is trained on what it had said before.

As in https://github.com/1Konny/FactorVAE/issues/15.
"""

import torch
from torch import nn


def build(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 16), nn.Tanh(), nn.Linear(16, outputs))


class Game:
    def __init__(self):
        self.writer, self.listener = build(6, 3), build(3, 1)
        self.writes = torch.optim.SGD(self.writer.parameters(), lr=0.05)
        self.listens = torch.optim.SGD(self.listener.parameters(), lr=0.05)

    def round(self, words):
        codes = self.writer(words)
        heard = self.listener(codes)
        self.writes.zero_grad()
        heard.mean().backward(retain_graph=True)
        self.writes.step()  # expect: GS701 modified_at
        noise = self.listener(torch.randn_like(codes))
        self.learn(heard, noise)  # expect: GS701

    def learn(self, heard, noise):
        loss = nn.functional.softplus(-heard).mean() + nn.functional.softplus(noise).mean()
        self.listens.zero_grad()
        loss.backward()  # expect: GS701 fails_at
        self.listens.step()


torch.manual_seed(0)
game = Game()
for _ in range(4):
    game.round(torch.randn(12, 6))
