"""From some round on new optimizers are made: a block more each time, for cycles of the rate."""

import torch
from torch import nn


def one_round(model, optimizer, plan=None):
    for _ in range(6):
        x = torch.randn(20, 4)
        optimizer.zero_grad()
        (model(x) - x.sum(1, keepdim=True)).square().mean().backward()
        optimizer.step()
        if plan is not None:
            plan.step()


def net():
    blocks = [nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(5)]
    model = nn.Sequential(*blocks, nn.Linear(4, 1))
    model[:-1].requires_grad_(False)
    return model, torch.optim.Adam(model[-1].parameters(), lr=0.01)


def one_by_one(model, optimizer):
    for epoch in range(6):
        if epoch >= 1:
            model[5 - epoch].requires_grad_(True)
            optimizer = torch.optim.Adam([one for one in model.parameters() if one.requires_grad], lr=0.01)
        one_round(model, optimizer)


def in_cycles(model, optimizer):
    plan = None
    for epoch in range(6):
        if epoch >= 2:
            model.requires_grad_(True)
            optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
            plan = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 6)
        one_round(model, optimizer, plan)


if __name__ == "__main__":
    torch.manual_seed(0)
    first, second = net(), net()
    in_cycles(*second)
    one_by_one(*first)
