"""Spectral and weight norm."""

import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

torch.manual_seed(0)
m = nn.Sequential(spectral_norm(nn.Linear(4, 4)), nn.ReLU(), weight_norm(nn.Linear(4, 1)))
o = torch.optim.SGD(m.parameters(), lr=0.1)
for _i in range(6):
    loss = m(torch.randn(3, 4)).pow(2).mean()
    o.zero_grad()
    loss.backward()
    o.step()
avg = torch.optim.swa_utils.AveragedModel(nn.Linear(2, 2))
