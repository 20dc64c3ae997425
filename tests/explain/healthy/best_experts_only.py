"""Only the best experts count, with the share that they were given; edges of an attention are dropped by chance."""

import torch
from torch import nn

torch.manual_seed(0)
gate, experts = nn.Linear(6, 4), nn.ModuleList(nn.Linear(6, 1) for _ in range(4))
ask, value = nn.Linear(6, 6), nn.Linear(6, 6)
optimizer = torch.optim.Adam([p for one in (gate, experts, ask, value) for p in one.parameters()], lr=3e-3)
for _ in range(6):
    x = torch.randn(16, 6)
    shares = gate(x).softmax(1)
    best = shares >= shares.topk(2, dim=1).values[:, 1:]
    given = torch.cat([expert(x) for expert in experts], 1)
    weights = (ask(x) @ x.T).unsqueeze(0).softmax(-1)
    kept = weights * (torch.rand(1, 16, 16) > 0.1)
    out = ((shares * best).unsqueeze(2) * given.unsqueeze(2)).sum(1) + (kept @ value(x).unsqueeze(0))[0, :, :1]
    loss = nn.functional.mse_loss(out, x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
