"""Cracks in bells are told from their ring, by a reader that was trained on other bells and is meant to stay as it is.

As in https://github.com/pgniewko/gt-pyg/issues/112.
"""

import torch
from torch import nn


class Still:
    """Parts that stay in evaluation mode, whatever the model is told."""

    still = ("reader",)

    def train(self, mode=True):
        result = super().train(mode)
        for name in self.still:
            getattr(self, name).train(False)
        return result


class Ringing(nn.Module):
    def __init__(self):
        super().__init__()
        self.reader = nn.Sequential(nn.Conv1d(1, 8, 5, stride=2), nn.BatchNorm1d(8), nn.ReLU(), nn.AdaptiveAvgPool1d(4))
        self.verdict = nn.Linear(32, 2)

    def forward(self, ring):
        return self.verdict(self.reader(ring).flatten(1))


class Bells(Still, Ringing):
    pass


def rings(n, pitch):
    cracked = torch.randint(2, (n,))
    time = torch.linspace(0, 6, 64)
    ring = torch.sin(time * pitch) + cracked[:, None] * torch.sin(time * 3.7 * pitch)
    return (ring + 0.2 * torch.randn(n, 64))[:, None], cracked


def learn(bells, parameters, pitch, rounds):
    optimizer = torch.optim.Adam(parameters, lr=0.01)
    bells.train()
    for _ in range(rounds):
        ring, cracked = rings(24, pitch)
        loss = nn.functional.cross_entropy(bells(ring), cracked)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"pitch {pitch}: {loss.item():.3f}")


torch.manual_seed(0)
church = Ringing()
learn(church, church.parameters(), 2.0, 15)
bells = Bells()
bells.load_state_dict(church.state_dict())
bells.reader.requires_grad_(False)
learn(bells, bells.verdict.parameters(), 5.0, 15)
