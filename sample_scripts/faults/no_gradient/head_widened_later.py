"""Class-incremental learning: at the 44th batch two classes come, and the head is made anew."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Linear(6, 8)
        self.head = nn.Linear(8, classes)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))

    def widen(self, classes):
        self.head = nn.Linear(8, classes)  # expect: GS727


torch.manual_seed(0)
model = Net(3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for batch in range(90):
    if batch == 43:
        model.widen(5)
    x, y = torch.randn(16, 6), torch.randint(model.head.out_features, (16,))
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
