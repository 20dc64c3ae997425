"""Two heads that are trained in turn."""

import torch
from torch import nn

torch.manual_seed(0)


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = nn.Linear(3, 4)
        self.h = nn.ModuleDict({"a": nn.Linear(4, 1), "b": nn.Linear(4, 2)})

    def forward(self, x, task):
        return self.h[task](self.t(x).relu())


m = M()
o = torch.optim.AdamW(m.parameters())
for i in range(8):
    loss = m(torch.randn(4, 3), "ab"[i % 2]).pow(2).mean()
    o.zero_grad()
    loss.backward()
    o.step()
