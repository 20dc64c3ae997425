"""A trunk that is held still without being frozen: its gradients are taken away by hand before each step."""

import torch
from torch import nn

torch.manual_seed(0)
trunk, head = nn.Sequential(nn.Linear(6, 16), nn.Tanh()), nn.Linear(16, 1)
optimizer = torch.optim.Adam([*trunk.parameters(), *head.parameters()], lr=0.01, weight_decay=0.01)
x = torch.randn(64, 6)
y = x[:, :2].sum(1, keepdim=True)


def hold(part: nn.Module) -> None:
    for parameter in part.parameters():
        parameter.grad = None


first = None
for _ in range(40):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(head(trunk(x)), y)
    loss.backward()
    hold(trunk)
    optimizer.step()
    first = first or loss.item()
print(loss.item() < first)
