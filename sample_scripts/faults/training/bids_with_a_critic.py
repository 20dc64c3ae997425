"""Bids for goods: a trunk with two heads, the advantage is brought to one scale before the loss of the policy.

As in https://github.com/astariul/encode-attend-navigate-pytorch/pull/3.
"""

import torch
from torch import nn


class Bidder(nn.Module):
    def __init__(self, prices=5):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(3, 24), nn.ReLU())
        self.price = nn.Linear(24, prices)
        self.worth = nn.Linear(24, 1)

    def forward(self, goods):
        h = self.trunk(goods)
        return self.price(h).log_softmax(-1), self.worth(h)


def step(bidder, goods, optimizer):
    logarithms, worth = bidder(goods)
    bids = torch.multinomial(logarithms.detach().exp(), 1)
    gain = (goods.sum(1, keepdim=True) - bids / 4) * (bids > 1)
    surplus = gain - worth  # expect: GS881
    surplus = (surplus - surplus.mean()) / (surplus.std() + 1e-6)
    loss = -(surplus * logarithms.gather(1, bids)).mean() + nn.functional.mse_loss(worth, gain)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return gain.mean().item()


torch.manual_seed(1)
bidder = Bidder()
optimizer = torch.optim.Adam(bidder.parameters(), lr=3e-3)
for _ in range(25):
    mean = step(bidder, torch.rand(64, 3), optimizer)
print(f"{mean:.3f}")
