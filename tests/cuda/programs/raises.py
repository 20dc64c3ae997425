"""A backward that fails in the thread of the device: the same error, at the same place."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 8), nn.Sigmoid(), nn.Linear(8, 1)).cuda()
hidden = model[1](model[0](torch.randn(4, 8, device="cuda")))
hidden.mul_(2)
model[2](hidden).sum().backward()
