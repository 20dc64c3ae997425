"""Two networks for one tide, one for its ebb and one for its flood, are trained in turn by a helper's optimizers.

As in https://github.com/zhaoyuzhi/deepfillv2/pull/3.
"""

import torch
from torch import nn


def optimizers_of(ebb, flood):
    return [
        torch.optim.Adam(ebb.parameters(), lr=1e-3),
        torch.optim.Adam(flood.parameters(), lr=1e-2),
    ]


torch.manual_seed(2)
networks = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1)), nn.Linear(5, 1)
optimizers = optimizers_of(*networks)
for step in range(24):
    seen = torch.randn(48, 5)
    network, optimizer = networks[step % 2], optimizers[step % 2]
    loss = nn.functional.mse_loss(network(seen), seen.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
