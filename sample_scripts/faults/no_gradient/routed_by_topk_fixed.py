"""A router whose choice is an index: the gate learns nothing."""

import torch
from torch import nn


class Router(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 3)
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        weight, chosen = self.gate(x).softmax(-1).max(-1)
        return torch.stack([w * self.experts[int(one)](row) for w, one, row in zip(weight, chosen, x, strict=True)])


torch.manual_seed(0)
router = Router()
optimizer = torch.optim.SGD(router.parameters(), lr=0.1)
for _ in range(4):
    loss = router(torch.randn(12, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
