"""The lines that built torch's own modules, and those that edit in place: read back for the modules that ran."""

from __future__ import annotations

import inspect
from pathlib import Path

import torch
from torch import nn

from gradscope.store.reader import load
from tests.probes.against import recording


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)


def line_of(text: str) -> int:
    """The line of this file that holds a text first."""
    return next(
        number for number, line in enumerate(inspect.getsourcelines(inspect.getmodule(Block))[0], 1) if text in line
    )


def run(model: nn.Module) -> None:
    model(torch.ones(1, 2)).sum().backward()


def test_modules_of_torchs_have_the_line_that_built_them(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        run(nn.Sequential(Block(), nn.Tanh()))
    with load(path) as recorded:
        built = {
            one.path: (one.module_class, one.site and one.site.line, one.inplace) for one in recorded.declarations()
        }
    inner, outer = line_of("self.inner = nn"), line_of("run(nn.Sequential(Block()")
    assert built == {
        "": ("Sequential", outer, False),
        "0.inner": ("Sequential", inner, False),
        "0.inner.0": ("Linear", inner, False),
        "0.inner.1": ("ReLU", inner, True),
        "1": ("Tanh", outer, False),
    }


def test_what_is_built_later_is_seen_too(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        model = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
        for _ in range(8):
            run(model)
        model[1] = nn.Sigmoid()
        run(nn.Sequential(model))
    with load(path) as recorded:
        assert ("0.1", "Sigmoid") in {(one.path, one.module_class) for one in recorded.declarations()}
