"""A recurrent network over many steps, whose loss looks at the end only."""

import torch
from torch import nn


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.read = nn.Linear(2, 8), nn.Linear(8, 1)
        self.step = nn.Linear(8, 8)

    def forward(self, x):
        state = torch.tanh(self.encode(x[0]))
        for _ in range(16):
            state = state + 0.01 * torch.tanh(self.step(state))
        return self.read(state)


torch.manual_seed(0)
model = Recurrent()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(5):
    x = torch.randn(16, 8, 2)
    loss = (model(x) - x[0, :, :1]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
