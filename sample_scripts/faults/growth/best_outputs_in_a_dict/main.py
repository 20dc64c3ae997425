"""A trainer that remembers its outputs by step."""

import torch
from torch import nn
from trainer import Trainer

torch.manual_seed(0)
trainer = Trainer(nn.Linear(4, 2))
for step in range(10):
    trainer.step(step, torch.randn(3, 4))
