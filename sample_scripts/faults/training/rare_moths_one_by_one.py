"""Names moths by the measures of their wings; rare kinds are to count more, and moths come one at a time.

As in https://github.com/pytorch/pytorch/issues/50528.
"""

import torch
from torch import nn

torch.manual_seed(0)
moths, kinds = torch.randn(48, 6), torch.randint(3, (48,))
rarity = len(kinds) / torch.bincount(kinds, minlength=3)
net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))
criterion = nn.CrossEntropyLoss(weight=rarity)  # expect: GS747
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(moths, kinds), shuffle=True)
for moth, kind in loader:
    loss = criterion(net(moth), kind)  # expect: GS747 called_at
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
