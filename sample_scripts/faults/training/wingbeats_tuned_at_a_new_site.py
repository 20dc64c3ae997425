"""Wingbeats of insects: a network moves to a new site, and the norms of its trunk are to stay as they were.

As in https://github.com/idstcv/SoftTriple/issues/4.
"""

import torch
from torch import nn

KINDS, LENGTH = 3, 32


class Trunk(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.first, self.first_norm = nn.Conv1d(1, width, 5), nn.BatchNorm1d(width)
        self.second, self.second_norm = nn.Conv1d(width, width, 5), nn.BatchNorm1d(width)

    def freeze_norms(self):
        self.first_norm.eval()  # expect: GS813
        self.second_norm.eval()

    def forward(self, wave):
        wave = torch.relu(self.first_norm(self.first(wave)))
        return torch.relu(self.second_norm(self.second(wave))).mean(2)


def heard(loudness, count=24):
    kind = torch.randint(KINDS, (count,))
    beat = torch.sin(torch.arange(LENGTH) * (0.4 + 0.3 * kind[:, None]))
    return (loudness * beat + 0.3 * torch.randn(count, LENGTH))[:, None], kind


def train(network, weights, loudness, steps):
    optimizer = torch.optim.SGD(weights, lr=0.05, momentum=0.9)
    for _ in range(steps):
        wave, kind = heard(loudness)
        loss = nn.functional.cross_entropy(network(wave), kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    trunk = Trunk()
    network = nn.Sequential(trunk, nn.Linear(8, KINDS))
    print(f"first site {train(network, network.parameters(), 1.0, 12):.3f}")
    network[1] = nn.Linear(8, KINDS)
    trunk.freeze_norms()
    optimizer = torch.optim.SGD([p for p in network.parameters() if p.requires_grad], lr=0.02)  # expect: GS813 used_at
    for _ in range(12):
        wave, kind = heard(2.0)
        loss = nn.functional.cross_entropy(network(wave), kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"new site {loss.item():.3f}")


main()
