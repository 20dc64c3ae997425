"""Pretrained trunk kept in the optimizer as a group with lr 0 on purpose (to be thawed in a later run), the
new head is trained beside it.
"""

import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.head = nn.Linear(48, 3)

    def forward(self, x):
        return self.head(self.trunk(x))


w = torch.randn(12, 3)
x = torch.randn(256, 12)
y = (x @ w).argmax(1)

model = Net()
optimizer = torch.optim.Adam(
    [
        {"params": model.trunk.parameters(), "lr": 0.0, "name": "trunk"},
        {"params": model.head.parameters(), "lr": 2e-2, "name": "head"},
    ]
)

for epoch in range(5):
    hits = 0
    for xb, yb in zip(x.split(32), y.split(32), strict=False):
        out = model(xb)
        loss = nn.functional.cross_entropy(out, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hits += (out.argmax(1) == yb).sum().item()
    lrs = {g["name"]: g["lr"] for g in optimizer.param_groups}
    print(f"epoch {epoch} loss {loss.item():.4f} acc {hits / 256:.3f} lrs {lrs}")
