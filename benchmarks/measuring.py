"""Ratios measured A B A B in one process: all its CPU time, in every thread, the writing of the recording included.

The surprise: the first steps of a recording are not like the others, because what is new is written down then, and at
once. They are measured by themselves: a training loop has thousands of the others.
"""

from __future__ import annotations

import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from workloads import Workload

Way = Callable[[Path], AbstractContextManager[Any]]
FIRST = 20  # steps


@dataclass(frozen=True)
class Price:
    """What a way of watching costs: medians of the pairs, and the plain step's milliseconds (the least)."""

    ratio: float
    plain: float
    first: float  # milliseconds that the first steps take more than as many plain ones


def seconds(step: Callable[[], None], steps: int) -> float:
    """CPU seconds of this process for one step."""
    started = time.process_time()
    for _ in range(steps):
        step()
    return (time.process_time() - started) / steps


def prices(workload: Workload, ways: dict[str, Way], rounds: int) -> dict[str, Price]:
    """The price of each way, measured in turn with the plain step, round after round."""
    _, _, step = workload.build()
    plain: dict[str, list[float]] = {name: [] for name in ways}
    ratios: dict[str, list[float]] = {name: [] for name in ways}
    first: dict[str, list[float]] = {name: [] for name in ways}
    seconds(step, FIRST)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for name, way in ways.items():
                plain[name].append(seconds(step, workload.steps))
                with way(Path(folder)):
                    first[name].append((seconds(step, FIRST) - plain[name][-1]) * FIRST)
                    ratios[name].append(seconds(step, workload.steps) / plain[name][-1])
    return {
        name: Price(statistics.median(ratios[name]), min(plain[name]) * 1000, statistics.median(first[name]) * 1000)
        for name in ways
    }


def machine() -> str:
    """What it was measured on."""
    return f"{platform.machine()}, Python {platform.python_version()}, torch {torch.__version__} on one thread"
