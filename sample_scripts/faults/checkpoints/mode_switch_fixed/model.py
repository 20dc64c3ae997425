"""A network whose middle is checkpointed."""

from torch import nn
from torch.utils.checkpoint import checkpoint


class Middle(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(16, 16)

    def forward(self, x):
        x = self.layer(x).relu()
        return nn.functional.dropout(x, 0.5, self.training)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.middle, self.last = nn.Linear(6, 16), Middle(), nn.Linear(16, 3)

    def forward(self, x):
        hidden = checkpoint(self.middle, self.first(x), use_reentrant=False)
        return self.last(hidden)
