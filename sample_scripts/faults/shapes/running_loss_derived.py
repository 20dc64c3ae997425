"""Adds the losses of several small batches up before each step."""
# as in https://github.com/v-mipeng/LexiconNER/issues/7

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(8):
    total = 0.0
    for part in range(4):
        x = torch.randn(8, 5)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        total += loss.item() / 4  # expect: GS866
    optimizer.zero_grad()
    total.backward()  # expect: GS866 fails_at
    optimizer.step()
    print(f"loss {float(total):.3f}")
