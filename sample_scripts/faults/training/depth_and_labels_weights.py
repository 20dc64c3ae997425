"""Two tasks whose weights in the loss are learned, as log variances."""
# as in https://github.com/ifzhang/FairMOT/issues/19

import torch
from torch import nn

torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(6, 20), nn.ReLU())
depth, labels = nn.Linear(20, 1), nn.Linear(20, 4)
log_variances = nn.Parameter(torch.zeros(2))
modules = nn.ModuleList([trunk, depth, labels])
optimizer = torch.optim.Adam(modules.parameters(), lr=1e-2)  # expect: GS817
for step in range(20):
    x = torch.randn(16, 6)
    features = trunk(x)
    losses = torch.stack(
        [
            nn.functional.l1_loss(depth(features), x[:, :1]),
            nn.functional.cross_entropy(labels(features), x[:, 1:5].argmax(dim=1)),
        ]
    )
    loss = (torch.exp(-log_variances) * losses + log_variances).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
