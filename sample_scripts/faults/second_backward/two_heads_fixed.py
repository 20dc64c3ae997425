"""Two heads on one trunk, each with a backward of its own."""

import torch
from torch import nn


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
        self.mean, self.spread = nn.Linear(8, 1), nn.Linear(8, 1)

    def forward(self, x):
        features = self.trunk(x)
        return self.mean(features), self.spread(features)


torch.manual_seed(0)
model = TwoHeads()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in torch.utils.data.DataLoader(torch.randn(8, 4), batch_size=4):
    mean, spread = model(batch)
    optimizer.zero_grad()
    (mean.square().mean() + spread.exp().mean()).backward()
    optimizer.step()
print("trained")
