"""Gradients that are looked at in stretches: large, transposed and expanded ones."""

import torch
from _bits import state
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3000, 4000, bias=False), nn.Linear(4000, 2)).cuda()
for _ in range(3):
    model.zero_grad(set_to_none=False)
    hidden = model[0](torch.randn(4000, 3000, device="cuda"))
    (hidden.sum() * 1e-6 + model[1](hidden).square().mean()).backward()
    torch.optim.SGD(model.parameters(), 1e-3).step()
print(state(model))
