"""A learning rate that throws the first layer out of range in one step, and the last one ever farther."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = nn.Linear(4, 32), nn.Linear(32, 1)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=3.0)  # expect: GS737
for step in range(10):
    x = torch.rand(64, 4)
    loss = (net(x) + 5).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # expect: GS737 called_at
    print(step, loss.item())
