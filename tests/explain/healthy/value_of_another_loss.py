"""A loss that shows the value of one term and has the gradients of another, and one whose parts go back one by one."""

import torch
from torch import nn

torch.manual_seed(0)
body, first, second = nn.Linear(8, 16), nn.Linear(16, 1), nn.Linear(16, 4)
optimizer = torch.optim.Adam([*body.parameters(), *first.parameters(), *second.parameters()], 1e-3)
for _ in range(12):
    x = torch.randn(16, 8)
    features = torch.relu(body(x))
    shown = first(features).abs().mean()
    surrogate = first(features).square().mean()
    (surrogate + (shown - surrogate).detach()).backward(retain_graph=True)
    part = nn.functional.cross_entropy(second(features), torch.randint(0, 4, (16,)))
    part.backward(retain_graph=True)
    total = second(features).square().mean() + part.detach()
    total.backward()
    optimizer.step()
    optimizer.zero_grad()
