"""Training in epochs with a Trainer."""

import torch
from torch import nn
from trainer import Trainer

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(), nn.Linear(8, 1))
print(Trainer(model).fit(epochs=8))
