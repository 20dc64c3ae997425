"""A training from the top down: after each pass the optimizer is made again with fewer layers, which were chosen.

The iterators over parameters are made anew, counted once, or cleared in a loop that makes them itself.
"""

import torch
from torch import nn


class Trainer:
    def __init__(self, net):
        self.net = net
        self.all = filter(lambda one: one.requires_grad, net.parameters())
        self.size = sum(one.numel() for one in self.all)
        self.layers = [one for one in net if isinstance(one, nn.Linear)]
        self.optimizer = self.make()

    def make(self):
        wanted = (one for layer in self.layers for one in layer.parameters())
        return torch.optim.Adam(wanted, lr=1e-2)

    def clear(self):
        every = self.net.parameters()
        for one in every:
            one.grad = None

    def train(self):
        while self.layers:
            for _ in range(6):
                x = torch.randn(32, 4)
                self.clear()
                loss = (self.net(x) - x[:, :1].sin()).square().mean()
                loss.backward()
                self.optimizer.step()
            self.layers = self.layers[1:]
            if self.layers:
                self.optimizer = self.make()
        return loss.item() / self.size


torch.manual_seed(0)
print(Trainer(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))).train())
