"""The average of a network is begun by a copy of it, whose convolutions are under the old weight_norm."""

# as in https://github.com/pytorch/pytorch/issues/28594
import copy
import warnings

import torch
from torch import nn
from torch.nn.utils import weight_norm

warnings.simplefilter("ignore")


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = weight_norm(nn.Conv1d(2, 2, 3, padding=1))  # expect: GS714
        self.out = nn.Linear(2, 1)

    def forward(self, x):
        return self.out(torch.relu(self.conv(x)).mean(2))


torch.manual_seed(0)
model, average = Block(), None
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(6):
    loss = model(torch.randn(4, 2, 8)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 3:
        average = copy.deepcopy(model)  # expect: GS714 fails_at
