"""Training steps that repeat, and what a recording says of their backward calls."""

import torch
from torch import nn

import gradscope

STEPS = 40


def blocks(path):
    """The operators of each block with a backward, and whether they were watched."""
    with gradscope.load(path) as recording:
        return [
            (one.backward, one.watched, tuple((each.name, each.node, each.site) for each in one.operations))
            for one in recording.blocks()
            if one.backward is not None
        ]


def watched(path):
    return {backward: seen for backward, seen, _ in blocks(path)}


def record(path, step, steps=STEPS, **options):
    with gradscope.record(path, **options) as recorded:
        for number in range(steps):
            step(number)
    assert not recorded.summary.faults
    return path


def training(build=lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 2))):
    torch.manual_seed(0)
    model = build()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    x = torch.randn(5, 4)

    def step(number):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    return model, x, step
