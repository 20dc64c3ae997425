"""Three models with a loss each, then a fourth: the names of the first stage hold their last results to the end."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
models = [nn.Linear(8, 8) for _ in range(3)]
optimizers = [torch.optim.Adam(one.parameters(), lr=1e-2) for one in models]
for _ in range(20):
    x = torch.randn(32, 8)
    same = F.mse_loss(models[0](x), x)
    optimizers[0].zero_grad()
    same.backward()
    optimizers[0].step()
    turned = F.mse_loss(models[1](x), -x)
    optimizers[1].zero_grad()
    turned.backward()
    optimizers[1].step()
    doubled = F.mse_loss(models[2](x), 2 * x)
    optimizers[2].zero_grad()
    doubled.backward()
    optimizers[2].step()
print(f"{same.item():.4f} {turned.item():.4f} {doubled.item():.4f}")

last = nn.Linear(8, 2)
optimizer = torch.optim.Adam(last.parameters(), lr=1e-2)
for _ in range(100):
    x = torch.randn(32, 8)
    loss = F.cross_entropy(last(x), (x[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
