"""A crane learns where its load goes; the gradients are clipped where the loss is computed, before there are new ones.

As in https://github.com/simchowitzlabpublic/nano-world-model/pull/22.
"""

import torch
from torch import nn


class Crane(nn.Module):
    def __init__(self):
        super().__init__()
        self.forecast = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 4))

    def loss_of(self, batch):
        pulls, places = batch
        loss = (self.forecast(pulls) - places).square().mean()
        nn.utils.clip_grad_norm_(self.parameters(), 0.5)  # expect: GS820
        return loss


def fit(crane, batches):
    optimizer = torch.optim.Adam(crane.parameters(), lr=1e-2)
    for batch in batches:
        loss = crane.loss_of(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # expect: GS820 called_at


torch.manual_seed(0)
fit(Crane(), [(torch.randn(8, 6) * 10, torch.randn(8, 4) * 10) for _ in range(8)])
