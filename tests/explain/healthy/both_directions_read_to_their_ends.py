"""Nets that read both ways and take of each half what has read all; one reads one way, and one a single step."""

import torch
from torch import nn

torch.manual_seed(0)
SIZE = 6


def ends(states, _last):
    return torch.cat([states[:, -1, :SIZE], states[:, 0, SIZE:]], dim=1)


def first_half(states, _last):
    last = states[:, -1]
    return torch.cat([last[:, :SIZE], last[:, :SIZE].square()], dim=1)


def with_its_states(states, last):
    return states[:, -1] + torch.cat([last[-2], last[-1]], dim=1)


def with_its_start(states, _last):
    return states[:, -1] + states[:, 0]


def state_of_the_way_back(_states, last):
    back = last[-1]
    return torch.cat([back, back.square()], dim=1)


def somewhere(states, _last):
    return states[:, 3]


def last_step(states, _last):
    return states[:, -1]


for take, both, steps in (
    (ends, True, 5),
    (first_half, True, 5),
    (with_its_states, True, 5),
    (with_its_start, True, 5),
    (state_of_the_way_back, True, 5),
    (somewhere, True, 7),
    (last_step, False, 5),
    (last_step, True, 1),
):
    reader = nn.GRU(4, SIZE if both else 2 * SIZE, batch_first=True, bidirectional=both)
    head = nn.Linear(2 * SIZE, 3)
    optimizer = torch.optim.Adam([*reader.parameters(), *head.parameters()], lr=1e-2)
    for _ in range(3):
        scores = head(take(*reader(torch.randn(8, steps, 4))))
        loss = nn.functional.cross_entropy(scores, torch.randint(3, (8,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
