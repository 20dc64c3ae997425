"""A graph network that adds up for each node what its neighbours send."""

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.message, self.own = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x, source, target):
        sent = self.message(x[source])
        total = torch.zeros_like(x)
        total[target] += sent  # expect: GS852
        return torch.relu(total + self.own(x))


torch.manual_seed(0)
layer, out = Layer(), nn.Linear(8, 1)
optimizer = torch.optim.Adam([*layer.parameters(), *out.parameters()], lr=1e-2)
for step in range(25):
    x, source, target = torch.randn(40, 8), torch.randint(0, 40, (160,)), torch.randint(0, 40, (160,))
    wanted = torch.zeros(40, 1).index_add(0, target, x[source].sum(1, keepdim=True))
    loss = nn.functional.mse_loss(out(layer(x, source, target)), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
