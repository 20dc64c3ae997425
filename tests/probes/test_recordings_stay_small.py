"""What repeats is stored once, and a long recording costs no more memory than a short one."""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn
from torch._library import simple_registry
from torch.utils._python_dispatch import TorchDispatchMode

import gradscope
from gradscope.capture import Recorder
from tests.probes.against import recording

DETAILS = ("nodes", "ops", "full")
UNARY = (torch.sin, torch.cos, torch.tanh, torch.sigmoid, torch.neg)


def training() -> Callable[[], None]:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    x = torch.randn(2, 4)

    def step() -> None:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

    return step


def size(steps: int, detail: str, folder: Path, step: Callable[[], None]) -> int:
    with gradscope.record(folder / "run.gscope", detail=detail, overwrite=True):
        for _ in range(steps):
            step()
    return (folder / "run.gscope").stat().st_size


@pytest.mark.parametrize(("detail", "most"), [("nodes", 120), ("ops", 300), ("full", 2000)])
def test_a_step_that_repeats_adds_little(detail: str, most: int, tmp_path: Path) -> None:
    step = training()
    added = size(400, detail, tmp_path, step) - size(100, detail, tmp_path, step)
    assert added / 300 <= most  # bytes


@pytest.mark.parametrize("detail", DETAILS)
def test_an_event_takes_60_bytes_at_most_where_nothing_repeats(detail: str, tmp_path: Path) -> None:
    chosen, weight = random.Random(0), torch.ones(8, requires_grad=True)

    def step() -> None:
        value = weight
        for _ in range(50):
            value = chosen.choice(UNARY)(value)
        value.sum().backward()

    first, last = size(10, detail, tmp_path, step), size(40, detail, tmp_path, step)
    with gradscope.load(tmp_path / "run.gscope") as recorded:
        census = recorded.census()
        measured = sum(len(recorded.node_runs(n)) + len(recorded.gradients(n)) for n in range(census.backwards))
        events = census.nodes + census.edges + census.operations + census.saved + measured
    assert (last - first) / (events * 30 / 40) <= 60


@pytest.mark.parametrize("detail", DETAILS)
def test_memory_does_not_grow_with_the_steps(detail: str, tmp_path: Path) -> None:
    step, steps = training(), 800
    blocks = []
    with recording(tmp_path, detail):
        assert Recorder.running is not None
        for _ in range(2):
            for _ in range(steps):
                step()
            Recorder.running.writer.commit()  # some of the last steps wait to be written
            gc.collect()
            blocks.append(sys.getallocatedblocks())
    assert blocks[1] - blocks[0] < 0.8 * steps  # less than an object a step; free lists and caches move it by 350


def answer(mode: object, operator: object, types: object, arguments: object, keywords: object) -> torch.Tensor:
    return torch.tensor([7.0])


def test_rules_of_other_modes_hold_while_operators_are_recorded(tmp_path: Path) -> None:
    class Mode(TorchDispatchMode):
        pass

    find = simple_registry.find_torch_dispatch_rule
    original, operator = find.__code__, torch.ops.aten.sin.default
    handle = simple_registry.singleton.find(operator.__qualname__).torch_dispatch_rules.register(Mode, answer)
    value = torch.ones(1)
    with recording(tmp_path):
        with Mode():
            sine = value.sin()
        assert find(operator, Mode) is answer
    assert sine.item() == 7
    handle.destroy()
    assert find.__code__ is original
