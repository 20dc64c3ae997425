"""A small trainer class whose step makes a leaf of the logits."""

import torch
from torch import nn
from trainer import Trainer

torch.manual_seed(0)
batches = [(torch.randn(4, 5), torch.randint(3, (4,))) for _ in range(3)]
Trainer(nn.Sequential(nn.Linear(5, 6), nn.GELU(), nn.Linear(6, 3))).fit(batches, epochs=2)
