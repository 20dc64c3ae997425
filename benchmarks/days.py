"""Whether memory and files stay flat over a long run: `python benchmarks/days.py` prints the table of docs/overhead.md.

Steps are tiny and come in 97 lengths. Each way runs in a process of its own, so that its peak is its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from measuring import machine

from gradscope.arming.armed import Armed
from gradscope.arming.rotation import Rotation
from gradscope.capture import Recorder
from gradscope.channel.address import VARIABLE
from gradscope.model.detail import Detail
from gradscope.model.limits import Limits
from gradscope.model.request import RecordRequest
from gradscope.model.window import Window

PAGE = resource.getpagesize()
Way = Callable[[Path], Any]  # something with start() and stop()


def _plain(path: Path) -> Any:
    return None


def _armed(path: Path) -> Armed:
    return Armed(Recorder, path, RecordRequest())


def _kept(detail: str, path: Path) -> Recorder:
    return Recorder(path, Detail(detail), Window(keep=20))


def _ring(detail: str, path: Path) -> Recorder:
    return Recorder(path, Detail(detail), Window(), Limits(size=2_000_000))


def _rotated(detail: str, path: Path) -> Rotation:
    return Rotation(partial(Recorder, detail=Detail(detail)), path, 2000, 3)


WAYS: dict[str, Way] = {
    "plain": _plain,
    "armed": _armed,
    "--keep-last 20, nodes": partial(_kept, "nodes"),
    "--keep-last 20, ops": partial(_kept, "ops"),
    "--max-size 2MB, ops": partial(_ring, "ops"),
    "--rotate 2000 --rotate-keep 3, ops": partial(_rotated, "ops"),
}


def step(number: int, weight: torch.Tensor) -> None:
    """A tiny step; every 97th is like this one."""
    (weight * torch.ones(number % 97 + 1, 4)).square().sum().backward()
    weight.grad = None


def resident() -> float:
    """Megabytes of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE / 1e6


def measure(name: str, steps: int) -> None:
    """Run so many steps in one way and print its row: megabytes after a tenth, half and all, the peak, the files."""
    weight = torch.ones(4, requires_grad=True)
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.environ[VARIABLE] = folder  # nobody else's programs are asked, and nobody asks this one
        recorder = WAYS[name](Path(folder) / "run.gscope")
        if recorder is not None:
            recorder.start()
        found, largest, started = [], 0, time.process_time()
        for number in range(steps):
            step(number, weight)
            if number + 1 in (steps // 10, steps // 2, steps):
                found.append(resident())
            if number % 1000 == 0:
                largest = max(largest, sum(one.stat().st_size for one in Path(folder).iterdir()))
        spent = time.process_time() - started
        if recorder is not None:
            recorder.stop()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    row = (*(f"{one:.1f}" for one in found), f"{peak:.1f}", f"{largest / 1e6:.1f}", f"{spent / steps * 1e6:,.0f}")
    print(f"| {name} | {' | '.join(row)} |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--only", help="the ways with this in their names")
    asked = parser.parse_args()
    print(machine())
    print(f"\n| {asked.steps:,} steps | MB after a tenth | half | all | peak | most MB on disk | us of CPU a step |")
    print("|---|---|---|---|---|---|---|")
    for name in WAYS:
        if asked.only is None or asked.only in name:
            process = multiprocessing.get_context("spawn").Process(target=measure, args=(name, asked.steps))
            process.start()
            process.join()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
