"""The two networks."""

from torch import nn

generator = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3))
discriminator = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
