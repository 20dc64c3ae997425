"""A frozen encoder that follows the trained one, and a queue of its outputs."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
q = nn.Linear(4, 3)
k = copy.deepcopy(q)
k.requires_grad_(False)
o = torch.optim.SGD(q.parameters(), lr=0.1)
queue = torch.randn(8, 3)
for _i in range(10):
    x = torch.randn(2, 4)
    a = nn.functional.normalize(q(x), dim=1)
    with torch.no_grad():
        for pk, pq in zip(k.parameters(), q.parameters(), strict=False):
            pk.lerp_(pq, 0.01)
        b = nn.functional.normalize(k(x), dim=1)
    logits = torch.cat([(a * b).sum(1, keepdim=True), a @ queue.t()], 1)
    loss = nn.functional.cross_entropy(logits, torch.zeros(2, dtype=torch.long))
    o.zero_grad()
    loss.backward()
    o.step()
    queue = torch.cat([b, queue])[:8]
