"""Learns which letter comes next, with an attention of its own.

As in https://github.com/alex-matton/causal-transformer-decoder/issues/1.
"""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.ask, self.answer, self.value = (nn.Linear(width, width) for _ in range(3))

    def forward(self, h):
        scores = self.ask(h) @ self.answer(h).transpose(1, 2) / h.shape[2] ** 0.5
        return h + scores.add(torch.full_like(scores, -1e9).triu(1)).softmax(-1) @ self.value(h)


def step(network, optimizer, letters):
    loss = nn.functional.cross_entropy(network(letters[:, :-1]).transpose(1, 2), letters[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


torch.manual_seed(1)
network = nn.Sequential(nn.Embedding(12, 16), Attention(16), Attention(16), nn.Linear(16, 12))
optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
for _ in range(12):
    loss = step(network, optimizer, torch.randint(12, (16, 11)).cumsum(1) % 12)
print(f"{loss:.3f}")
