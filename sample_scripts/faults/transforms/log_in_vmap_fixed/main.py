"""An ensemble whose members note their largest activation."""

import torch
from ensemble import activation, seen
from torch.func import vmap

torch.manual_seed(0)
weights = torch.randn(3, 4, 4)
out = vmap(activation)(weights, torch.randn(3, 4))
print(out.shape, seen.shape)
