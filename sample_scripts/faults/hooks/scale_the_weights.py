"""A learning-rate scale for one layer, as a post-accumulate hook written in one line."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model[0].weight.register_post_accumulate_grad_hook(lambda grad: grad.mul_(0.1))  # expect: GS753
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(5, 3)).square().mean().backward()
    optimizer.step()
print("trained")
