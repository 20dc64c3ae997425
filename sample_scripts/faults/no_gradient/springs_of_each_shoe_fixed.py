"""How a shoe gives way: its springs are generated from what it is made of, and laid out anew for each shoe.

As in https://github.com/lezcano/geotorch/issues/12.
"""

import torch
from torch import nn


class Springs(nn.Module):
    def __init__(self, stiffness, rest):
        super().__init__()
        self.rest = rest
        self.stiffness = stiffness

    def forward(self, pressed):
        return (self.stiffness * (pressed - self.rest)).sum(1)


class Maker(nn.Module):
    def __init__(self, parts, springs):
        super().__init__()
        self.mixed = nn.Sequential(nn.Linear(parts, 20), nn.Mish(), nn.Linear(20, springs))
        self.rest = nn.Parameter(torch.zeros(springs))

    def lay_out(self, shoe):
        stiffness = nn.functional.softplus(self.mixed(shoe))
        return Springs(stiffness=stiffness, rest=self.rest)


def train(rounds=40):
    torch.manual_seed(5)
    maker = Maker(parts=4, springs=6)
    optimizer = torch.optim.NAdam(maker.parameters(), 0.01)
    for turn in range(rounds):
        shoe, pressed = torch.rand(4), torch.rand(12, 6)
        springs = maker.lay_out(shoe)
        loss = nn.functional.huber_loss(springs(pressed), pressed.sum(1) * shoe.sum())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if turn % 13 == 0:
            print(f"{turn:2d} {loss.item():.3f}")


train()
