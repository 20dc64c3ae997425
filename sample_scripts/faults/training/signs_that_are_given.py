"""Letters of a script: the table of signs is given, and only what reads it is to learn.

As in https://github.com/cornellius-gp/gpytorch/issues/1131.
"""

import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.signs = nn.Embedding(20, 6)
        self.read = nn.GRU(6, 8, batch_first=True)
        self.kind = nn.Linear(8, 3)

    def forward(self, signs):
        return self.kind(self.read(self.signs(signs))[1][0])


torch.manual_seed(0)
reader = Reader()
learned = (
    one
    for one in reader.parameters()
    if one not in {reader.signs.weight.detach()}  # expect: GS813
)
optimizer = torch.optim.SGD(learned, lr=0.1)
for _ in range(12):
    signs = torch.randint(0, 20, (24, 5))
    loss = nn.functional.cross_entropy(reader(signs), signs.sum(dim=1) % 3)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
