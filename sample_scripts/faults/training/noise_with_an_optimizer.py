"""Sensor readings that are made hard by a noise, which an optimizer of its own finds for each batch.

As in https://github.com/P2333/Bag-of-Tricks-for-AT/issues/8.
"""

import torch
from torch import nn


class Hard:
    """Finds a noise in a box around zero with which a model errs more."""

    def __init__(self, model, radius, rounds):
        self.model, self.radius, self.rounds = model, radius, rounds

    def __call__(self, readings, state):
        noise = torch.zeros_like(readings, requires_grad=True)
        search = torch.optim.Adam([noise], lr=self.radius, maximize=True)
        for _ in range(self.rounds):
            search.zero_grad()
            nn.functional.cross_entropy(self.model(readings + noise), state).backward()  # expect: GS849 cause_at
            search.step()
            with torch.no_grad():
                noise.clamp_(-self.radius, self.radius)
        return readings + noise.detach()


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 32), nn.GELU(), nn.Linear(32, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    hard = Hard(model, radius=0.2, rounds=3)
    for _ in range(30):
        readings = torch.randn(40, 6)
        state = readings[:, :3].argmax(1)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(hard(readings, state)), state)
        loss.backward()  # expect: GS849
        optimizer.step()


main()
