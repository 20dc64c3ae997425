"""Plants in a meadow, of which rare ones are to count more: each has its weight.

As in https://github.com/Farama-Foundation/Gymnasium/issues/1336, where it is the mean of the log-probabilities.
"""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 4))
criterion = nn.CrossEntropyLoss(reduction="none")
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(12):
    leaves, plants = torch.randn(32, 6), torch.randint(0, 4, (32,))
    rarity = torch.tensor([0.2, 0.3, 1.0, 4.0])[plants]
    loss = (criterion(net(leaves), plants) * rarity).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
