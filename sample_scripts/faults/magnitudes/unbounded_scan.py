"""Sequence labels from a linear scan: a decay for each channel, learned.

The decay is not bounded, as in https://github.com/alxndrTL/mamba.py/issues/53.
"""

import torch
from torch import nn

torch.manual_seed(0)


class Scan(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(3, width)
        self.decay = nn.Linear(3, width)
        self.out = nn.Linear(width, 2)

    def forward(self, x):
        keep = torch.exp(self.decay(x) + 0.6)
        h = torch.zeros(x.shape[0], keep.shape[-1])
        for t in range(x.shape[1]):
            h = keep[:, t] * h + self.inner(x[:, t])  # expect: GS739
        return self.out(h)


model = Scan(16)
optimizer = torch.optim.SGD(model.parameters(), 1e-4)
for step in range(6):
    x = torch.randn(8, 40, 3)
    loss = nn.functional.cross_entropy(model(x), (x[:, -1, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print(step, loss.item())
