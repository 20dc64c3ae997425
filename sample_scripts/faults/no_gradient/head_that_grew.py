"""New classes in the middle of the training: the optimizer goes on with the old head (ContinualAI/avalanche#1362)."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Linear(8, 16)
        self.head = nn.Linear(16, classes)

    def forward(self, x):
        return self.head(self.body(x).relu())


def add_classes(net, more):
    old = net.head
    new = nn.Linear(old.in_features, old.out_features + more)
    with torch.no_grad():
        new.weight[: old.out_features].copy_(old.weight)
        new.bias[: old.out_features].copy_(old.bias)
    net.head = new  # expect: GS727


torch.manual_seed(0)
net = Net(3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(60):
    if step == 23:
        add_classes(net, 2)
    x = torch.randn(32, 8)
    classes = net.head.out_features
    loss = nn.functional.cross_entropy(net(x), x[:, :classes].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
