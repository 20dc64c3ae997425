"""Sets of points, each encoded by itself, then scored together."""
# as in https://discuss.pytorch.org/t/gradient-is-lost-when-use-torch-tensor-t1-t2/23261

import torch
from torch import nn


class Sets(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(3, width), nn.Tanh(), nn.Linear(width, 6))
        self.score = nn.Linear(7, 1)

    def encode(self, points):
        return self.encoder(points).mean(0)

    def forward(self, sets):
        features = torch.stack([self.encode(points) for points in sets])
        sizes = torch.tensor([[len(points) / 8] for points in sets])
        return self.score(torch.cat([features, sizes], 1)).squeeze(1)


torch.manual_seed(0)
model = Sets()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(8):
    sets = [torch.randn(4 + number % 3, 3) for number in range(6)]
    spread = torch.stack([points.var() for points in sets])
    loss = nn.functional.mse_loss(model(sets), spread)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
