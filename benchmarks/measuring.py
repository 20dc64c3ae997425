"""Ratios measured A B A B in one process: all its CPU time, in every thread, the writing of the recording included.

Two surprises: the first steps of a recording are not like the others, because what is new is written down then, and at
once; they are measured by themselves, because a training loop has thousands of the others. And a shared machine is
slow for seconds at a time, so blocks of steps are compared, and of each kind's the quiet ones.
"""

from __future__ import annotations

import platform
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import torch
from workloads import Workload

Way = Callable[[Path], AbstractContextManager[Any]]
FIRST = 20  # steps
BLOCKS = 5  # of steps, in each round of each way; one is long enough for a commit or two


@dataclass(frozen=True)
class Price:
    """What a way of watching costs: the ratio of the blocks' lower quartiles, and the plain one in milliseconds."""

    ratio: float
    plain: float
    first: float  # milliseconds that the first steps take more than as many plain ones


def seconds(step: Callable[[], None], steps: int) -> float:
    """CPU seconds of this process for one step."""
    started = time.process_time()
    for _ in range(steps):
        step()
    return (time.process_time() - started) / steps


def blocks(step: Callable[[], None], *sizes: int) -> list[float]:
    """CPU seconds of a step in each of some blocks of steps, all from one line: other lines are another program."""
    return [seconds(step, steps) for steps in sizes]


def quiet(times: list[float]) -> float:
    """The lower quartile: what it takes while the machine has nothing else to do."""
    return quantiles(times, n=4, method="inclusive")[0]


def prices(
    workload: Workload, ways: dict[str, Way], rounds: int, typical: Callable[[list[float]], float] = quiet
) -> dict[str, Price]:
    """The price of each way, measured in turn with the plain step, round after round."""
    _, _, step = workload.build()
    plain: dict[str, list[float]] = {name: [] for name in ways}
    watched: dict[str, list[float]] = {name: [] for name in ways}
    first: dict[str, list[float]] = {name: [] for name in ways}
    seconds(step, FIRST)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for name, way in ways.items():
                usual = [workload.steps] * BLOCKS
                plain[name] += blocks(step, *usual)
                with way(Path(folder)):
                    beginning, *others = blocks(step, workload.first, *usual)
                first[name].append((beginning - typical(plain[name])) * workload.first)
                watched[name] += others
    return {
        name: Price(
            typical(watched[name]) / typical(plain[name]), typical(plain[name]) * 1000, median(first[name]) * 1000
        )
        for name in ways
    }


@dataclass(frozen=True)
class Paired:
    """The ratios of neighbouring blocks, one watched and one plain: their median, and the middle half of them."""

    ratio: float
    lower: float
    upper: float
    plain: float  # milliseconds of a step, the median

    def __str__(self) -> str:
        return f"{self.ratio:.3f}x ({self.lower:.3f} to {self.upper:.3f})"


def paired(workload: Workload, way: Way, pairs: int) -> Paired:
    """The price of a way that costs little: each block is compared with its neighbour alone, and every other pair runs
    the other way round, so that what the machine does meanwhile, or a loop that gets slower, is in both. After each
    change both kinds run some steps that do not count."""
    _, _, step = workload.build()
    seconds(step, FIRST)
    ratios: list[float] = []
    plain: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(pairs):
            times: dict[bool, float] = {}
            for watched in (number % 2 == 1, number % 2 == 0):
                with way(Path(folder)) if watched else nullcontext():
                    seconds(step, FIRST)
                    times[watched] = seconds(step, workload.steps)
            ratios.append(times[True] / times[False])
            plain.append(times[False])
    lower, _, upper = quantiles(ratios, n=4, method="inclusive")
    return Paired(median(ratios), lower, upper, median(plain) * 1000)


def steps_under(workload: Workload, way: Way) -> list[float]:
    """CPU seconds of a step of a workload that begins anew: among its first ones, then in each block after them."""
    _, _, step = workload.build()
    with tempfile.TemporaryDirectory() as folder, way(Path(folder)):
        return blocks(step, workload.first, *[workload.steps] * BLOCKS)


def machine() -> str:
    """What it was measured on."""
    return f"{platform.machine()}, Python {platform.python_version()}, torch {torch.__version__} on one thread"
