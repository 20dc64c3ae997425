"""An encoder and what reads its codes are trained in turn; a helper makes one optimizer for each.

As in https://github.com/zhaoyuzhi/deepfillv2/pull/3.
"""

import torch
from torch import nn


def optimizers_of(encoder, reader):
    return [
        torch.optim.Adam(encoder.parameters(), lr=1e-3),
        torch.optim.Adam(encoder.parameters(), lr=1e-2),  # expect: GS887
    ]


torch.manual_seed(2)
encoder, reader = nn.Sequential(nn.Linear(5, 16), nn.Tanh()), nn.Linear(16, 3)
optimizers = optimizers_of(encoder, reader)
kinds = torch.randint(3, (96,))
seen = torch.randn(3, 5)[kinds] + 0.3 * torch.randn(96, 5)
for step in range(24):
    loss = nn.functional.cross_entropy(reader(encoder(seen)), kinds)
    optimizer = optimizers[step % 2]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
