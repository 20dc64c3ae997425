"""A detector keeps the normalisation of its backbone at rest; validation ends with train(), which wakes it."""

import torch
from torch import nn


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv1d(2, 8, 3), nn.BatchNorm1d(8), nn.ReLU(), nn.AdaptiveAvgPool1d(1))
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.backbone(x).flatten(1))


def validate(model, batches):
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in batches)
    model.train()  # expect: GS812
    return right


torch.manual_seed(0)
model = Detector()
model.backbone[1].requires_grad_(False)
model.backbone[1].eval()
optimizer = torch.optim.SGD([one for one in model.parameters() if one.requires_grad], 0.05)
batches = [(torch.randn(8, 2, 16), torch.randint(0, 3, (8,))) for _ in range(6)]
for _ in range(3):
    for x, y in batches:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    print(validate(model, batches))
