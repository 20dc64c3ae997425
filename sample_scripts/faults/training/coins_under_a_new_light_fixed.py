"""Knows coins by an encoder that learned on others; a part of it is frozen before each stage, which ends its setup.

As in https://discuss.pytorch.org/t/decreasing-weights-without-optimization/4268.
"""

import torch
from torch import nn


class Coins(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder, self.head = encoder, nn.Linear(8, 3)

    def forward(self, coins):
        return self.head(self.encoder(coins))


class Stage:
    def __init__(self, net):
        self.net = net
        self.hold()
        self.optimizer = torch.optim.Adam(net.head.parameters(), lr=1e-2)

    def hold(self):
        for weight in self.net.encoder.parameters():
            weight.requires_grad = False

    def run(self, rounds):
        self.net.train()
        self.net.encoder.eval()
        for _ in range(rounds):
            coins, kinds = 2 * torch.rand(16, 5) + 1, torch.randint(3, (16,))
            loss = nn.functional.cross_entropy(self.net(coins), kinds)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()


def encoder():
    made = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU())
    optimizer = torch.optim.Adam(made.parameters(), lr=1e-2)
    for _ in range(12):
        coins = torch.randn(16, 5)
        loss = (made(coins).sum(1) - coins[:, 0].abs()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return made


torch.manual_seed(0)
stage = Stage(Coins(encoder()))
print(f"{stage.run(20):.3f}")
