"""What a forked child costs under gradscope: `python benchmarks/children.py` prints milliseconds of CPU time a child.

Each child does nothing, or one step of a few operators, and ends as a worker of multiprocessing does. Its own CPU time
is taken, with what it spends before its function begins and after that has ended; the mean of many, plain and recorded.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import tempfile
from functools import partial
from pathlib import Path

import torch

from gradscope.arming.plan import Plan
from gradscope.arming.recorder import recorder
from gradscope.children import join_forked
from gradscope.commands.trace import command
from gradscope.launch.handing_on import Children
from gradscope.model.family import Family

CHILDREN = 40


def nothing() -> None:
    """Leave autograd alone."""


def step() -> None:
    """Run one backward."""
    x = torch.ones(2, requires_grad=True)
    (x * 2).sum().backward()


def milliseconds(work: object) -> float:
    """The CPU time of a child that does this, once it and its parent are warm."""
    taken = []
    for _ in range(CHILDREN):
        before = os.times()
        child = multiprocessing.get_context("fork").Process(target=work)  # type: ignore[arg-type]
        child.start()
        child.join()
        after = os.times()
        spent = after.children_user + after.children_system - before.children_user - before.children_system
        taken.append(1e3 * spent)
    return statistics.mean(taken)  # the system counts in hundredths of a second


def main() -> None:
    """Print a table."""
    torch.set_num_threads(1)
    plain = {work.__name__: milliseconds(work) for work in (nothing, step)}
    with tempfile.TemporaryDirectory() as folder:
        settings = command.make_context("trace", ["-c", ""]).params
        found = recorder(Plan.read(settings), Path(folder) / "parent.gscope")
        family = Family(f"{folder}/children", "child", settings, f"{folder}/marks")
        children = Children(family, partial(join_forked, family))
        found.start()
        children.put()
        recorded = {work.__name__: milliseconds(work) for work in (nothing, step)}
        children.restore()
        found.stop()
    for name, before in plain.items():
        print(f"{name:8} {before:6.1f} ms plain, {recorded[name]:6.1f} ms recorded")


if __name__ == "__main__":
    main()
