"""Training with a sampling pause: between forward and backward the model is switched to eval()."""

import torch
from model import Net
from torch import nn


def sample(net, x):
    net.eval()
    with torch.no_grad():
        out = net(x).argmax(1)
    net.train()
    return out


def main():
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    for step in range(2):
        net.train()
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        loss = nn.functional.cross_entropy(net(x), y)
        if step == 1:
            print(sample(net, x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
