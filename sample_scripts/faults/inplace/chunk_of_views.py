"""Gates that are cut from one product and then scaled in place."""

import torch
from torch import nn

torch.manual_seed(0)
layer = nn.Linear(3, 8)
value, gate = layer(torch.randn(2, 3)).chunk(2, dim=-1)  # expect: GS705 born_at
gate.sigmoid_()  # expect: GS705
(value * gate).sum().backward()
print(layer.weight.grad.shape)
