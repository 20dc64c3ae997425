"""Tells mushrooms that can be eaten by a logistic margin: labels of either sign, times a score.

As in https://solofox.github.io/torch/broadcasting/2025/12/07/torch-broadcasting-trap.html.
"""

import torch
from torch import nn


def margin_loss(score, sign, *, least=1.0):
    return nn.functional.softplus(least - sign * score).mean()


def main():
    torch.manual_seed(11)
    net = nn.Sequential(nn.Linear(7, 20), nn.GELU(), nn.Linear(20, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for _ in range(30):
        looks = torch.randn(26, 7)
        sign = torch.sign(looks[:, 1] - looks[:, 4])
        loss = margin_loss(net(looks).view(-1), sign)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.3f}")


main()
