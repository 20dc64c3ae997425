"""How large recordings become and how fast they are read: `python benchmarks/recordings.py` prints it.

An event is a node made, an operator, an in-place write, a node's run or a gradient measured.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from measuring import machine, seconds
from torch import nn
from workloads import DEEP, LARGE, SMALL, gpt

import gradscope

STEPS = 50
MANY = 1_000_000  # events
LONG = 10_000  # steps
UNARY = (torch.sin, torch.cos, torch.tanh, torch.sigmoid, torch.relu, torch.neg, torch.clone)


def size(step: Callable[[], None], steps: int, detail: str, path: Path) -> tuple[int, int]:
    """Bytes and events of a recording of so many steps."""
    with gradscope.record(path, detail=detail, overwrite=True):
        for _ in range(steps):
            step()
    return path.stat().st_size, events(path)


def events(path: Path) -> int:
    """The events in a recording."""
    with gradscope.load(path) as recording:
        census = recording.census()
        last = census.backwards - 1
        measured = len(recording.node_runs(last)) + len(recording.gradients(last))
        return census.nodes + census.operations + census.mutations + measured * census.backwards


def varied(seed: int) -> Callable[[], None]:
    """A step that never repeats: 100 random operators in a row."""
    chosen, weight = random.Random(seed), torch.ones(8, requires_grad=True)

    def step() -> None:
        value = weight
        for _ in range(100):
            value = chosen.choice(UNARY)(value)
        value.sum().backward()

    return step


def sizes(folder: Path) -> None:
    """Print bytes by step and by event, for steps that repeat and for steps that do not."""
    print("| | detail | first step | a step more | events a step | an event, 50 steps |\n|---|---|---|---|---|---|")
    never = ("steps that never repeat", lambda: (None, None, varied(0)))
    for name, build in (*((one.name, one.build) for one in (SMALL, LARGE, DEEP)), never):
        for detail in ("nodes", "ops", "full"):
            _, _, step = build()
            first, _ = size(step, 1, detail, folder / "one.gscope")
            half, few = size(step, STEPS, detail, folder / "half.gscope")
            whole, many = size(step, 2 * STEPS, detail, folder / "whole.gscope")
            columns = (detail, first, round((whole - half) / STEPS), round((many - few) / STEPS), f"{half / few:.1f}")
            print(f"| {name} | " + " | ".join(map(str, columns)) + " |", flush=True)


def reading_seconds(*arguments: str) -> float:
    """CPU seconds of a gradscope command, the start of Python included: the least of three."""
    least = float("inf")
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "gradscope", *arguments], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        least = min(least, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return least


def reading(folder: Path) -> None:
    """Print how long `info` takes on a million events, and `graph` on a backward of 1,700 nodes."""
    for name, step in (("repeat", SMALL.build()[2]), ("never repeat", varied(1))):
        path = folder / f"{name}.gscope"
        _, few = size(step, 10, "ops", path)
        bytes_, many = size(step, MANY // (few // 10) + 1, "ops", path)
        taken = reading_seconds("info", str(path))
        print(f"- `info`, {many:,} events of steps that {name} ({bytes_ / 1e6:.1f} MB): {taken:.2f} s")
    _, _, step = gpt(22)
    size(step, 1, "ops", folder / "deep.gscope")
    with gradscope.load(folder / "deep.gscope") as recording:
        nodes = len(recording.graph().nodes)
    taken = reading_seconds("graph", str(folder / "deep.gscope"), "--fmt", "text")
    print(f"- `graph --fmt text`, {nodes:,} nodes: {taken:.2f} s")


def endurance(folder: Path) -> None:
    """Print the price of a step and the process's memory as a recording grows long."""
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    x = torch.randn(4, 8)
    print("| steps | us a step | resident MB | file kB |\n|---|---|---|---|")
    path = folder / "long.gscope"
    with gradscope.record(path):
        for quarter in range(4):
            taken = seconds(lambda: model(x).sum().backward(), LONG // 4)
            row = (f"{LONG // 4 * (quarter + 1):,}", round(taken * 1e6), resident(), path.stat().st_size // 1000)
            print("| " + " | ".join(map(str, row)) + " |", flush=True)


def resident() -> str:
    """The process's memory in MB (Linux)."""
    statm = Path("/proc/self/statm")
    return f"{int(statm.read_text().split()[1]) * os.sysconf('SC_PAGESIZE') / 1e6:.1f}" if statm.exists() else "?"


def main() -> None:
    """Print the tables."""
    torch.set_num_threads(1)
    print(f"{machine()}\n")
    with tempfile.TemporaryDirectory() as folder:
        endurance(Path(folder))
        print()
        reading(Path(folder))
        print()
        sizes(Path(folder))


if __name__ == "__main__":
    main()
