"""Judges new sensors by features of old ones, whose norm is at rest until the rounds of the new ones wake all parts.

As in https://github.com/kdexd/virtex/issues/16.
"""

import torch
from torch import nn

torch.manual_seed(0)
features = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.Tanh())
model = nn.Sequential(features, nn.Linear(12, 1))


def learn(optimizer, switched, rounds=8):
    for _ in range(rounds):
        switched.train()  # expect: GS812 called_at
        readings = torch.randn(20, 6)
        loss = nn.functional.mse_loss(model(readings), readings.amax(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


learn(torch.optim.Adam(model.parameters(), lr=0.01), switched=model)
for part in features:
    part.requires_grad_(False).eval()  # expect: GS812 declared_at
learn(torch.optim.Adam(model[1].parameters(), lr=0.01), switched=model)  # expect: GS812
