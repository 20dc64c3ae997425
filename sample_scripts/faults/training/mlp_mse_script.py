"""Linear-ish regression where the net only learns the mean of y.

The error is [N, 1] minus [N], which broadcasts to [N, N].

Like https://github.com/pytorch/pytorch/issues/16045
"""

import torch
from torch import nn

torch.manual_seed(0)

sample_size = 100
x = torch.randn(sample_size, 2)
eps = 0.3 * torch.randn(sample_size)
y = 10 + 9 * x[:, 0] - 2 * x[:, 1] + eps

model = nn.Sequential(
    nn.Linear(2, 32),
    nn.Tanh(),
    nn.Linear(32, 1),
)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

for epoch in range(40):
    optimizer.zero_grad()
    yhat = model(x)
    err = yhat - y  # expect: GS808
    loss = (err**2).mean()
    loss.backward()
    optimizer.step()
    if epoch % 8 == 7:
        print("epoch", epoch, "mse", round(loss.item(), 4))

with torch.no_grad():
    p = model(x).flatten()
    print("spread of y", round(y.std().item(), 3), "spread of predictions", round(p.std().item(), 3))
