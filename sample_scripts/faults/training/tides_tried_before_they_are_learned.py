"""The height of the tide from sun and moon; a harbour tries its net out, and then draws another one from its own seed.

As in https://github.com/spro/practical-pytorch/issues/9.
"""

import torch
from torch import nn


class Tide(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.pull = nn.Linear(2, width)
        self.height = nn.Linear(width, 1)

    def forward(self, sky):
        return self.height(torch.tanh(self.pull(sky)))


class Harbour:
    def __init__(self, seed):
        self.net = Tide(12)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.show(torch.zeros(1, 2))
        self.sow(seed)  # expect: GS727

    def show(self, sky):
        print("shape", tuple(self.net(sky).shape))

    def sow(self, seed):
        torch.manual_seed(seed)
        self.net = Tide(12)

    def learn(self, sky, height):
        self.optimizer.zero_grad()
        loss = nn.functional.mse_loss(self.net(sky), height)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    harbour = Harbour(seed=5)
    for day in range(12):
        sky = 2 * torch.rand(16, 2) - 1
        loss = harbour.learn(sky, sky.sum(1, keepdim=True).cos())
    print(day, round(loss, 3))


main()
