"""A body rests while its heads warm up: its gradients are computed and cleared until its own optimizer begins."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)

body = nn.Sequential(nn.Linear(10, 24), nn.ReLU())
heads = nn.ModuleList([nn.Linear(24, 1) for _ in range(3)])
of_body = torch.optim.SGD(body.parameters(), lr=0.02, momentum=0.9)
of_heads = torch.optim.SGD(heads.parameters(), lr=0.02, momentum=0.9)
WARM = 20
for step in range(60):
    x = torch.randn(32, 10)
    wanted = torch.stack([x[:, 0], x[:, 1] * x[:, 2], x[:, 3].abs()], 1)
    for parameter in body.parameters():
        parameter.grad = None
    of_heads.zero_grad()
    for task, head in enumerate(heads):
        loss = F.mse_loss(head(body(x)).squeeze(1), wanted[:, task])
        loss.backward()
    if step >= WARM:
        of_body.step()
    of_heads.step()
    if step % 20 == 19:
        print(f"step {step + 1} loss {loss.item():.4f}")
