"""Answers are to stay near those of the model of before, which is the same object: it is asked in a helper.

As in https://github.com/datawhalechina/easy-rl/pull/117.
"""

import copy

import torch
from torch import nn


def near(model, reference, words):
    with torch.no_grad():
        wanted = reference(words)
    return nn.functional.smooth_l1_loss(model(words), wanted)


def tune(model, reference, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        words = torch.randint(20, (16, 5))
        loss = nn.functional.cross_entropy(model(words), words[:, 0] % 3) + 5 * near(model, reference, words)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(2)
model = nn.Sequential(nn.EmbeddingBag(20, 12), nn.Tanh(), nn.Linear(12, 3))
print(f"{tune(model, copy.deepcopy(model), 10):.3f}")
