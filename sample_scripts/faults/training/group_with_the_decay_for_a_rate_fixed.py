"""Bird calls: a second optimizer, made when the body is thawed, gives its group the decay as a rate.

As in https://github.com/offbit/evo-design/issues/3.
"""

import torch
from torch import nn

LR, DECAY, STEPS, THAW = 0.02, 1e-4, 14, 6


class Caller(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 12), nn.Tanh())
        self.head = nn.Linear(12, 1)

    def forward(self, x):
        return self.head(self.body(x)).squeeze(1)


def whole(model, lr, weight_decay):
    model.body.requires_grad_(True)
    head = {"params": model.head.parameters(), "lr": lr}
    body = {"params": model.body.parameters(), "lr": lr / 10}
    return torch.optim.AdamW([head, body], weight_decay=weight_decay)


torch.manual_seed(0)
model = Caller()
model.body.requires_grad_(False)
optimizer = torch.optim.AdamW(model.head.parameters(), lr=LR, weight_decay=DECAY)
for step in range(STEPS):
    if step == THAW:
        optimizer = whole(model, LR, DECAY)
    calls = torch.randn(32, 6)
    loss = (model(calls) - calls.sum(1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
