"""Binary cross entropy by hand: once the model is sure, the sigmoid is exactly 0 or 1, and its log is -inf."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(16, 3)
y = (x[:, :1] > 0).float()
x[3] = 400.0  # one outlier saturates the sigmoid

for step in range(8):
    logits = model(x)
    p = torch.sigmoid(logits)
    loss = -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()  # expect: GS730
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, round(loss.item(), 4))
