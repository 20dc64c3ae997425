"""A greenhouse: a model of its climate learns at each hour, a valve that is planned through it at each third.

As in https://github.com/ray-project/ray/pull/65125.
"""

import torch
from torch import nn


def climate(heat, valve):
    return 0.7 * heat + 0.6 * valve - 0.1 * heat * valve


class Greenhouse:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1))
        self.valve = nn.Linear(1, 1)
        self.warmth = nn.Parameter(torch.zeros(1))
        self.learns = torch.optim.SGD(self.model.parameters(), lr=0.05)
        self.plans = torch.optim.Adam(self.valve.parameters(), lr=0.01)
        self.wishes = torch.optim.Adam([self.warmth], lr=0.01)

    def observe(self, heat):
        valve = self.valve(heat).detach() + 0.3 * torch.randn_like(heat)
        error = (self.model(torch.cat([heat, valve], 1)) - climate(heat, valve)).square().mean()
        self.learns.zero_grad()
        error.backward()
        self.learns.step()

    def plan(self, heat):
        self.plans.zero_grad()
        reached = self.model(torch.cat([heat, self.valve(heat)], 1))
        (reached - self.warmth.detach()).abs().mean().backward()
        self.plans.step()

    def wish(self, heat):
        self.wishes.zero_grad()
        (self.warmth - heat.mean() - 0.5).square().sum().backward()
        self.wishes.step()


def main():
    torch.manual_seed(4)
    house = Greenhouse()
    for hour in range(60):
        heat = torch.rand(16, 1) * 4 - 2
        house.observe(heat)
        if hour % 3 == 2:
            house.plan(heat)
            house.wish(heat)


main()
