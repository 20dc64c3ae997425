"""Whether `gradscope watch` slows the run that it watches: `python benchmarks/watched.py` prints the table.

A recorded training, in pairs of blocks of steps: in one of a pair the watcher runs, in the other it is stopped by a
signal, every other pair the other way round, so that what the machine does meanwhile is in both. Beside the CPU time
it counts how often the writer waited for something: a watcher that it had to wait for would be seen there.
"""

from __future__ import annotations

import argparse
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

import torch
from measuring import FIRST, machine, seconds
from workloads import SMALL

import gradscope

STEPS = 1500  # of a block: long enough for a look, which is rare
Block = tuple[float, int]  # CPU seconds of a step, and how often the process waited


def block(step: object) -> Block:
    """One block of steps."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    took = seconds(step, STEPS)  # type: ignore[arg-type]
    return took, resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before


def pair(number: int, is_watched: bool) -> tuple[Block, Block]:
    """A recording of its own, of two blocks: watched (where anybody watches at all), and not."""
    _, _, step = SMALL.build()
    found: dict[bool, Block] = {}
    with tempfile.TemporaryDirectory() as folder, gradscope.record(Path(folder) / "run.gscope"):
        seconds(step, 5 * FIRST)
        command = [sys.executable, "-m", "gradscope", "watch", "--every", "0.2", "run.gscope"]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE) as watcher:
            assert watcher.stdout is not None
            watcher.stdout.readline()  # it has seen the recording
            for now in (number % 2 == 1, number % 2 == 0):
                watcher.send_signal(signal.SIGCONT if now and is_watched else signal.SIGSTOP)
                found[now] = block(step)
            watcher.kill()
    return found[True], found[False]


def rows(pairs: int) -> Iterator[str]:
    """The table."""
    yield f"| {pairs} pairs of {STEPS:,} steps | CPU time of the writer | middle half | it waited | unwatched |"
    yield "|---|---|---|---|---|"
    for name, is_watched in (("watched", True), ("nothing (the noise)", False)):
        found = [pair(number, is_watched) for number in range(pairs)]
        ratios = [one[0] / other[0] for one, other in found]
        lower, _, upper = quantiles(ratios, n=4, method="inclusive")
        waits = (f"{median(one[place][1] for one in found):,.0f} times" for place in (0, 1))
        yield f"| {name} | {median(ratios):.3f}x | {lower:.3f} to {upper:.3f} | {' | '.join(waits)} |"


def main() -> None:
    """Print it."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pairs", type=int, default=10)
    torch.set_num_threads(1)
    print(f"{machine()}\n")
    for row in rows(options.parse_args().pairs):
        print(row, flush=True)


if __name__ == "__main__":
    main()
