"""Traffic volumes of the next hour, which are never negative, from those of the hours before.

As in https://github.com/ProteomicsML/ProteomicsML/pull/203.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Volumes(nn.Module):
    def __init__(self, hours=12, width=32):
        super().__init__()
        self.inner = nn.Linear(hours, width)
        self.outer = nn.Linear(width, 1)

    def forward(self, past):
        hidden = torch.tanh(self.inner(past))
        return F.softplus(self.outer(hidden)).squeeze(1)


def main():
    torch.manual_seed(2)
    model = Volumes()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(50):
        past = torch.rand(64, 12)
        following = 0.5 * F.relu(past[:, -1] - 0.7)
        loss = F.mse_loss(model(past), following)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}")


main()
