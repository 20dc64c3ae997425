"""Wetness of fields from pictures: the network gives one channel, and what was measured has none.

As in https://github.com/jiwei0921/CoNet/issues/3.
"""

import torch
from torch import nn
from torch.nn import functional as F


def log_cosh(error):
    return (error.abs() + torch.log1p(error.square())).mean()


class Fields(nn.Module):
    def __init__(self):
        super().__init__()
        self.look = nn.Conv2d(3, 8, 3, padding=1)
        self.tell = nn.Conv2d(8, 1, 1)

    def forward(self, picture, wetness=None):
        guess = self.tell(F.silu(self.look(picture)))
        if wetness is None:
            return guess
        error = torch.rsub(wetness, guess)  # expect: GS808
        return log_cosh(error) + 0.1 * F.relu(-guess).mean()


torch.manual_seed(2)
fields = Fields()
optimizer = torch.optim.RMSprop(fields.parameters(), lr=2e-3)
for _ in range(25):
    picture = torch.rand(10, 3, 7, 9)
    loss = fields(picture, picture.mean(1) ** 2)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(f"{loss.item():.3f}")
