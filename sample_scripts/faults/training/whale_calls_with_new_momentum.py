"""Calls of whales are told apart; the method that trains an epoch makes its optimizer, so momentum never lasts.

As in https://github.com/euancrabtree/Lipreading-PyTorch/issues/7.
"""

import torch
from torch import nn


class Trainer:
    def __init__(self, net, calls, kinds):
        self.net, self.calls, self.kinds = net, calls, kinds

    def epoch(self):
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.05, momentum=0.9)  # expect: GS906
        total = 0.0
        for chosen in torch.randperm(len(self.calls)).split(20):
            loss = nn.functional.cross_entropy(self.net(self.calls[chosen]), self.kinds[chosen])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total


torch.manual_seed(0)
calls = torch.randn(100, 12)
trainer = Trainer(nn.Sequential(nn.Linear(12, 16), nn.Tanh(), nn.Linear(16, 3)), calls, calls[:, :3].argmax(1))
for epoch in range(6):  # expect: GS906 called_at
    print(f"{epoch + 1}: {trainer.epoch():.3f}")
