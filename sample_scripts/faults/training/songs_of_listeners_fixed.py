"""Tastes of listeners as a variational autoencoder has them: what they heard is told from a mean and a variance.

Each is a half of what the encoder gives. As in https://github.com/kaist-dmlab/TRAP/pull/1.
"""

import torch
from torch import nn


class Tastes(nn.Module):
    def __init__(self, songs, tastes):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(songs, 16), nn.Tanh(), nn.Linear(16, 2 * tastes))
        self.decode = nn.Linear(tastes, songs)

    def forward(self, heard):
        both = self.encode(nn.functional.normalize(heard))
        mean = both.chunk(2, dim=1)[0]
        log_var = both.chunk(2, dim=1)[1].clamp(-6, 4)
        taste = mean + torch.exp(0.5 * log_var) * torch.randn_like(mean)
        return self.decode(taste), mean, log_var


torch.manual_seed(0)
heard = (torch.rand(64, 24) < 0.3).float()
model = Tastes(24, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(8):
    listeners = heard[torch.randint(64, (16,))]
    told, mean, log_var = model(listeners)
    likelihood = (listeners * told.log_softmax(dim=1)).sum(dim=1).mean()
    divergence = 0.5 * (mean.square() + log_var.exp() - 1 - log_var).sum(dim=1).mean()
    loss = 0.1 * divergence - likelihood
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
