"""The head was meant to stay trainable."""

import torch
from torch import nn


class Tuned(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(5, 5)
        self.head = nn.Linear(5, 1)

    def freeze(self):
        self.backbone.requires_grad_(False)

    def forward(self, x):
        return self.head(self.backbone(x).relu())


torch.manual_seed(0)
model = Tuned()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model.freeze()
for _ in range(2):
    loss = model(torch.randn(4, 5)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
