"""Soundings of the sea floor: a stage that is fixed later runs without gradients, in a reentrant checkpoint.

As in https://discuss.pytorch.org/t/training-with-gradient-checkpoints-torch-utils-checkpoint-appears-to-reduce-performance-of-model/78102.
"""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Ping(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.shape, self.fixed = nn.Linear(width, width), False

    def forward(self, x):
        with torch.set_grad_enabled(not self.fixed):
            y = x + self.shape(x).tanh()  # expect: GS771
        return y

    def fix(self):
        self.fixed = True


torch.manual_seed(0)
enter, first, second, out = nn.Linear(6, 12), Ping(12), Ping(12), nn.Linear(12, 1)
parts = nn.ModuleList([enter, first, second, out])
optimizer = torch.optim.SGD(parts.parameters(), lr=0.05)
for step in range(9):
    x = torch.randn(16, 6)
    hidden = enter(x)
    for part in (first, second):
        hidden = checkpoint(part, hidden, use_reentrant=True)
    loss = (out(hidden).squeeze(1) - x.sum(1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 5:
        first.fix()
print(f"loss {loss.item():.3f}")
