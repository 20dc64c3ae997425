"""Falls told from the accelerations of a walker, whose steps come first and the walkers second.

As in https://github.com/yunjey/pytorch-tutorial/pull/174.
"""

import torch
from torch import nn

torch.manual_seed(0)
reader = nn.GRU(3, 10, bidirectional=True)
fallen = nn.Sequential(nn.Dropout(0.1), nn.Linear(20, 1))
optimizer = torch.optim.RMSprop([*reader.parameters(), *fallen.parameters()], lr=1e-3)
for _ in range(6):
    accelerations, falls = torch.randn(7, 6, 3), torch.randint(2, (6,)).float()
    states, last = reader(accelerations)  # expect: GS717 called_at
    walked = states[-1]  # expect: GS717
    loss = nn.functional.binary_cross_entropy_with_logits(fallen(walked).squeeze(1), falls)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
