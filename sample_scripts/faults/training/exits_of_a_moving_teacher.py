"""A net with an early exit: the exit imitates the end of the net, by a divergence written by hand.

As in https://github.com/pytorch/translate/pull/391.
"""

import torch
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.begin = nn.Sequential(nn.Linear(6, 24), nn.ReLU())
        self.rest = nn.Sequential(nn.Linear(24, 24), nn.ReLU())
        self.exit, self.end = nn.Linear(24, 4), nn.Linear(24, 4)

    def forward(self, x):
        early = self.begin(x)
        return self.exit(early), self.end(self.rest(early))


def apart(early, late, heat=3.0):
    wanted = torch.log_softmax(late / heat, 1)  # expect: GS842
    given = torch.log_softmax(early / heat, 1)
    return heat**2 * (wanted.exp() * (wanted - given)).sum(1).mean()  # expect: GS842 called_at


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
kinds = torch.randn(6, 4)
for step in range(30):
    x = torch.randn(32, 6)
    labels = (x @ kinds).argmax(1)
    early, late = net(x)
    loss = F.cross_entropy(late, labels) + 0.5 * F.cross_entropy(early, labels) + 0.5 * apart(early, late)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
