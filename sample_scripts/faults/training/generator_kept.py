"""A GRU learns to count; its parameters are kept in an iterator, which the optimizer has gone through before the
clipping is given it.
"""

from itertools import chain

import torch
from torch import nn


class Counter(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.rnn = nn.GRU(1, width, batch_first=True)
        self.head = nn.Linear(width, 1)

    def forward(self, bits):
        states, _ = self.rnn(bits)
        return self.head(states[:, -1]).squeeze(-1)


def sequences(count, length=12):
    bits = torch.randint(0, 2, (count, length, 1)).float()
    return bits, bits.sum((1, 2)) / length


torch.manual_seed(0)
model = Counter()
trained = chain(model.rnn.parameters(), model.head.parameters())  # expect: GS824
optimizer = torch.optim.Adam(trained, lr=1e-2)
for step in range(20):
    bits, target = sequences(32)
    loss = (model(bits) - target).square().mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(trained, 0.5)  # expect: GS824 called_at
    optimizer.step()
print(f"loss {loss.item():.4f}")
