"""Second-order information for each batch, by create_graph."""

import warnings

import torch
from curvature import curvature
from torch import nn

warnings.filterwarnings("ignore")
torch.manual_seed(0)
for _ in range(10):
    model = nn.Sequential(nn.Linear(2, 3), nn.Sigmoid(), nn.Linear(3, 1))
    print(f"{curvature(model, torch.randn(4, 2)):.3f}")
