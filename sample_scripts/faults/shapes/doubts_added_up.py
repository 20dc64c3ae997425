"""A classifier of leaves whose loss pays for doubt, sample by sample.

As in https://github.com/wohlert/semi-supervised-pytorch/issues/21.
"""

import torch
from torch import nn


def doubt(logits):
    chances = logits.softmax(dim=1)
    return 0.1 * -(chances * chances.log()).sum(dim=1)


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 24), nn.Tanh(), nn.Linear(24, 5))
criterion = nn.CrossEntropyLoss(reduction="none")
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(15):
    leaves = torch.randn(48, 10)
    logits = model(leaves)
    each = criterion(logits, leaves[:, :5].argmax(dim=1))
    each = each + sum(doubt(logits))  # expect: GS891
    loss = each.sum() / len(each)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
