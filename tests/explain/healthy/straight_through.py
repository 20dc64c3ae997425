"""A vector quantiser with detached terms."""

import torch
from torch import nn

torch.manual_seed(0)


class Q(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Linear(4, 3)
        self.code = nn.Embedding(8, 3)
        self.d = nn.Linear(3, 4)

    def forward(self, x):
        z = self.e(x)
        idx = torch.cdist(z, self.code.weight).argmin(1)
        q = self.code(idx)
        commit = (z - q.detach()).pow(2).mean() + (q - z.detach()).pow(2).mean()
        q = z + (q - z).detach()
        return self.d(q), commit


m = Q()
o = torch.optim.Adam(m.parameters())
for _i in range(5):
    x = torch.randn(6, 4)
    r, c = m(x)
    loss = (r - x).pow(2).mean() + 0.25 * c
    o.zero_grad()
    loss.backward()
    o.step()
