"""A Gaussian process learns its noise, of exact data, and keeps some of it."""

# as in https://github.com/GPflow/GPflow/issues/900
import torch
from torch import nn

torch.manual_seed(0)


class Process(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(1.0))
        self.noise = nn.Parameter(torch.tensor(-2.0))

    def covariance(self, x):
        kernel = torch.exp(-(((x - x.T) / self.scale) ** 2))
        return kernel + (self.noise.exp() + 1e-3) * torch.eye(len(x))

    def forward(self, x, y):
        factor = torch.linalg.cholesky(self.covariance(x))
        return (y * torch.cholesky_solve(y, factor)).sum() / 2 + factor.diagonal().log().sum()


x = torch.linspace(-2, 2, 60)[:, None]
process = Process()
optimizer = torch.optim.Adam(process.parameters(), lr=1.0)
for _ in range(40):
    optimizer.zero_grad()
    process(x, x.sin()).backward()
    optimizer.step()
