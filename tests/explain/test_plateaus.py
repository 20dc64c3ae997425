"""Schedules that wait for a loss to rise, and those that are right to."""

import pytest

PROGRAM = '''"""A loss falls, and the schedule waits for it to rise."""

import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau

net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
schedule = ReduceLROnPlateau(optimizer, "max", patience=0)
x = torch.randn(16, 3)
for _ in range(8):
    loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step(loss.item())
'''
SILENT = {
    "the loss turned around": ("loss.item()", "-loss.item()"),
    "a score": ("schedule.step(loss.item())", "score = -loss.item()\n    schedule.step(score)"),
    "its falling is what counts": ("schedule.step(loss.item())", "drop = 9 - loss.item()\n    schedule.step(drop)"),
    "raised on purpose": ("loss.backward()", "(-loss).backward()"),
    "raised by the optimizer": ("lr=0.1)", "lr=0.1, maximize=True)"),
    "it rises": ("lr=0.1)", "lr=30.0)"),
    "the rate stays": ("patience=0", "patience=50"),
    "another mode": ('"max"', '"min"'),
}


def told(explained, tmp_path, *edit):
    script = tmp_path / "plateau.py"
    script.write_text(PROGRAM.replace(*edit) if edit else PROGRAM)
    return [(one.code, one.site.line) for one in explained(script).findings if one.code == "GS857"]


def test_the_line_that_makes_the_schedule(explained, tmp_path):
    assert told(explained, tmp_path) == [("GS857", 8)]


@pytest.mark.parametrize("edit", SILENT.values(), ids=SILENT)
def test_a_schedule_that_is_meant(explained, tmp_path, edit):
    assert told(explained, tmp_path, *edit) == []
