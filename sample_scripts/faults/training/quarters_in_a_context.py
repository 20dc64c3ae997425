"""Loads of a power grid are fitted in quarters of a day; a context clears before each. As in https://github.com/pytorch/torchtitan/pull/3575."""

from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def learning(model, optimizer):
    model.train()
    optimizer.zero_grad()  # expect: GS802 cleared_at
    yield model
    model.eval()


def day(count):
    hours = torch.rand(count, 24, 3)
    return hours, (hours * torch.tensor([1.0, -2.0, 0.5])).sum(-1).cumsum(-1) / 24


def quarter(model, optimizer, hours, loads):
    with learning(model, optimizer) as net:  # expect: GS802
        states, _ = net["rnn"](hours)
        error = (net["out"](states).squeeze(-1) - loads).abs().mean() / 4
        error.backward()  # expect: GS802 cause_at
    return error.item()


def fit(days):
    model = nn.ModuleDict({"rnn": nn.GRU(3, 12, batch_first=True), "out": nn.Linear(12, 1)})
    optimizer = torch.optim.RMSprop(model.parameters(), lr=3e-3)
    for _ in range(days):
        hours, loads = day(16)
        errors = [quarter(model, optimizer, *parts) for parts in zip(hours.split(6, 1), loads.split(6, 1), strict=True)]
        optimizer.step()
        print(f"{sum(errors):.3f}")


torch.manual_seed(1)
fit(12)
