"""Monte Carlo dropout: what draws in evaluation says so, or its layer is switched on by hand."""

import torch
import torch.nn.functional as F
from torch import nn


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.drop, self.out = nn.Linear(3, 16), nn.Dropout(0.2), nn.Linear(16, 1)

    def forward(self, x):
        h = F.dropout(torch.relu(self.hidden(x)), p=0.1, training=True)
        return self.out(self.drop(h))


torch.manual_seed(0)
model = Regressor()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(3):
    model.train()
    for _ in range(4):
        x = torch.randn(16, 3)
        loss = F.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.train()
    with torch.no_grad():
        draws = torch.stack([model(torch.ones(4, 3)) for _ in range(8)])
    print(draws.std(0).mean().item())
