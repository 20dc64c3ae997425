"""A Poisson loss on raw rates. The loop checks the loss itself, and stops."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
x = torch.randn(8, 2)
counts = torch.randint(0, 5, (8, 1)).float()
for step in range(4):
    if step == 2:
        x = x * 1000
    rate = torch.exp(model(x))  # expect: GS730
    loss = (rate - counts * torch.log(rate + 1e-6)).mean()
    assert torch.isfinite(loss), f"the loss is {loss.item()} at step {step}"
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print(step, round(loss.item(), 4))
