"""A shared trunk and a head for each task."""

from torch import nn


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(4, 4)
        self.heads = {name: nn.Linear(4, 1) for name in ("a", "b")}  # expect: GS725

    def forward(self, x):
        h = self.trunk(x).relu()
        return {name: head(h) for name, head in self.heads.items()}
