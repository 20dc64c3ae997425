"""Batch whitening in groups, whose covariance is kept as a running average."""
# as in https://github.com/huangleiBuaa/IterNorm-pytorch/issues/2

import torch
from torch import nn


class Whitened(nn.Module):
    def __init__(self, features, groups, momentum=0.1):
        super().__init__()
        width = features // groups
        self.groups, self.momentum = groups, momentum
        self.register_buffer("mean", torch.zeros(groups, width, 1))
        self.register_buffer("covariance", torch.eye(width).repeat(groups, 1, 1))

    def forward(self, x):
        grouped = x.t().reshape(self.groups, -1, len(x))
        centred = grouped - grouped.mean(2, keepdim=True)
        covariance = centred @ centred.transpose(1, 2) / len(x)
        with torch.no_grad():
            self.covariance.mul_(1 - self.momentum).add_(covariance, alpha=self.momentum)
        scale = torch.diagonal(covariance, dim1=1, dim2=2).add(1e-3).rsqrt()
        return (centred * scale[..., None]).flatten(0, 1).t()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), Whitened(8, groups=2), nn.Tanh(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(6):
    x = torch.randn(16, 4)
    loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained")
