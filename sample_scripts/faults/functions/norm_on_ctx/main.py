"""Train a critic with a gradient penalty through a custom normalisation."""

import torch
from normalise import Normalise
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), Normalise(), nn.Linear(6, 1))
optimizer = torch.optim.Adam(critic.parameters())
for batch in torch.utils.data.DataLoader(torch.randn(8, 3), batch_size=4):
    points = batch.requires_grad_()
    judged = critic(points).sum()
    (slope,) = torch.autograd.grad(judged, points, create_graph=True)  # expect: GS763 fails_at
    loss = judged + (slope.norm(dim=1) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained")
