"""The level of a river is foretold; shadow weights are moved away from the weights that they are to follow.

As in https://github.com/ostris/ai-toolkit/issues/1034.
"""

import torch
from torch import nn


class Shadow:
    def __init__(self, parameters, decay=0.95):
        self.parameters, self.decay = list(parameters), decay
        self.shadow = [p.clone().detach() for p in self.parameters]  # expect: GS907 made_at

    @torch.no_grad()
    def update(self):
        one_minus_decay = 1.0 - self.decay
        for kept, parameter in zip(self.shadow, self.parameters, strict=True):
            distance = kept - parameter
            distance.mul_(one_minus_decay)
            kept.add_(distance)  # expect: GS907


torch.manual_seed(0)
rain = torch.rand(64, 24, 1)
level = rain[:, -6:, 0].mean(1, keepdim=True)
cell, head = nn.GRU(1, 16, batch_first=True), nn.Linear(16, 1)
parameters = [*cell.parameters(), *head.parameters()]
optimizer = torch.optim.Adam(parameters, lr=5e-3)
shadow = Shadow(parameters)
for step in range(24):
    loss = nn.functional.mse_loss(head(cell(rain)[0][:, -1]), level)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    shadow.update()
print(round(loss.item(), 4), max(one.abs().max().item() for one in shadow.shadow))
