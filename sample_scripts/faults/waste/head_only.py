"""Fine-tuning of the head with a backbone that still requires grad."""

import torch
from torch import nn


class Tuned(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Conv2d(3, 8, 3)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.backbone(x).relu().mean((2, 3)))


torch.manual_seed(0)
model = Tuned()
optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1)
for _ in range(3):
    loss = nn.functional.cross_entropy(model(torch.randn(2, 3, 6, 6)), torch.tensor([0, 1]))
    optimizer.zero_grad()
    loss.backward()  # expect: GS781
    optimizer.step()
