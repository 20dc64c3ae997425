"""A hook that records a layer's gradient, registered before the activation works in place."""

import torch
from torch import nn
from torch.nn import functional as F

recorded = []
torch.manual_seed(0)
layer = nn.Linear(3, 4)
hidden = layer(torch.randn(5, 3))
hidden.register_hook(recorded.append)  # expect: GS751
F.relu_(hidden)  # expect: GS751 modified_at
hidden.square().sum().backward()
print(recorded[0].shape)
