"""A covariance is learned as the square of a matrix, and a little more."""

# as in https://github.com/alan-turing-institute/autoemulate/issues/601
import torch
from torch import nn

torch.manual_seed(0)


class Gaussian(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(size))
        self.free = nn.Parameter(torch.eye(size))

    def forward(self, x):
        symmetric = self.free @ self.free.T + 0.01 * torch.eye(3)
        factor = torch.linalg.cholesky(symmetric)
        away = torch.linalg.solve_triangular(factor, (x - self.mean).T, upper=False)
        return away.square().sum(0).mean() / 2 + factor.diagonal().log().sum()


model = Gaussian(3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(60):
    x = 0.2 * torch.randn(64, 3)
    optimizer.zero_grad()
    model(x).backward()
    optimizer.step()
