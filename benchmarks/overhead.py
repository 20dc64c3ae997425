"""What recording costs, beside what other ways of watching autograd cost: the tables of docs/overhead.md.

`python benchmarks/overhead.py` prints them. Of each way, 5 blocks of steps are measured in each of `--rounds` rounds,
in turn with as many plain ones; 5 rounds take a quarter of an hour.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import torch
from measuring import FIRST, Price, Way, machine, paired, prices, seconds
from probes import FLOOR, PROBES
from workloads import LBFGS, VARIED, WORKLOADS, Workload

import gradscope
from gradscope.arming.armed import Armed
from gradscope.arming.boundary import NEVER, StepBoundary
from gradscope.capture import Recorder
from gradscope.model.request import RecordRequest
from gradscope.model.trigger import TRIGGERS, Trigger


def recorded(detail: str, **options: str) -> Way:
    """A recording in a folder."""
    return lambda folder: gradscope.record(folder / "run.gscope", detail=detail, overwrite=True, **options)  # type: ignore[arg-type]


def debug_mode(folder: Path) -> object:
    """Torch's DebugMode, which logs every operator."""
    from torch.utils._debug_mode import DebugMode

    return DebugMode()


DETAILS = {f"gradscope --detail {detail}": recorded(detail) for detail in ("nodes", "ops", "full")}
OTHERS: dict[str, Way] = {
    "torch anomaly mode, check_nan=False": lambda folder: torch.autograd.set_detect_anomaly(True, check_nan=False),
    "torch DebugMode": debug_mode,  # type: ignore[dict-item]
}


@contextlib.contextmanager
def armed(folder: Path, asked: bool = False, triggers: tuple[Trigger, ...] = ()) -> Iterator[None]:
    """A program that can be asked for recordings; `asked` once, at its beginning."""
    make = lambda path, detail, steps, **more: Recorder(path, detail, steps, overwrite=True, **more)  # noqa: E731
    one = Armed(make, folder / "run.gscope", RecordRequest(10, "full"), signal.SIGUSR1, triggers)
    one.start()
    if asked:
        os.kill(os.getpid(), signal.SIGUSR1)
    try:
        yield
    finally:
        one.stop()
        assert len(one.written) == asked


LOOKS = tuple(Trigger(kind, 1e6) for kind in TRIGGERS if kind.armed)  # which nothing meets
ARMED: dict[str, Way] = {
    "armed": armed,
    "armed, all triggers": partial(armed, triggers=LOOKS),
    "armed, has recorded 10 steps": partial(armed, asked=True),
}


def added_by_arming(calls: int = 20_000, rounds: int = 200) -> float:
    """Microseconds that a step of an armed program takes more: all that runs of it is asked of torch's logger."""
    log = torch.autograd.graph.log

    def asked() -> float:
        ask, started = torch.autograd.graph.log.getEffectiveLevel, time.thread_time()
        for _ in range(calls):
            ask()
        return (time.thread_time() - started) / calls * 1e6

    plain = min(asked() for _ in range(rounds))
    boundary = StepBoundary(lambda step: None)
    boundary.due = NEVER
    boundary.put()
    try:
        return min(asked() for _ in range(rounds)) - plain
    finally:
        boundary.restore()
        assert torch.autograd.graph.log is log


def added_by_triggers(workload: Workload, rounds: int) -> tuple[float, float]:
    """Microseconds that all triggers add to a step on an average, and as a share of it."""
    _, _, step = workload.build()
    seconds(step, workload.steps)
    spent = 0.0

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: object) -> Any:
            nonlocal spent
            started = time.thread_time()
            found = function(*arguments)
            spent += time.thread_time() - started
            return timed(found) if callable(found) else None

        return call

    with tempfile.TemporaryDirectory() as folder, armed(Path(folder), triggers=LOOKS):
        graph: Any = torch.autograd.graph
        before = graph._register_logging_hooks_on_whole_graph
        graph._register_logging_hooks_on_whole_graph = timed(before)
        count, started = rounds * workload.steps, time.thread_time()
        seconds(step, count)
        total = time.thread_time() - started
        graph._register_logging_hooks_on_whole_graph = before
    return spent / count * 1e6, spent / (total - spent)


PAIRS = 8  # of neighbouring blocks in a round
NOISE: dict[str, Way] = {"nothing (the noise)": lambda folder: nullcontext()}


def table(workloads: tuple[Workload, ...], ways: dict[str, Way], rounds: int) -> list[str]:
    """A row for each way, a column for each workload."""
    found: dict[str, list[Price]] = {name: [] for name in ways}
    for workload in workloads:
        for name, price in prices(workload, ways, rounds).items():
            found[name].append(price)
    plain = (f"{workload.name} ({price.plain:.1f} ms)" for workload, price in zip(workloads, found[name], strict=True))
    head = ["| | " + " | ".join(plain) + " |", "|---" * (len(workloads) + 1) + "|"]
    rows = (f"| {name} | " + " | ".join(f"{one.ratio:.2f}x" for one in row) + " |" for name, row in found.items())
    return [*head, *rows, *first_steps(found)]


def armed_table(workloads: tuple[Workload, ...], pairs: int) -> Iterator[str]:
    """A row for each way to be armed, a column for each workload: medians of so many pairs, and their middle halves."""
    found = {name: [paired(workload, way, pairs) for workload in workloads] for name, way in (ARMED | NOISE).items()}
    plain = (f"{workload.name} ({one.plain:.1f} ms)" for workload, one in zip(workloads, found["armed"], strict=True))
    yield f"| {pairs} pairs | " + " | ".join(plain) + " |"
    yield "|---" * (len(workloads) + 1) + "|"
    for name, row in found.items():
        yield f"| {name} | " + " | ".join(map(str, row)) + " |"


def varied(rounds: int) -> Iterator[str]:
    """Programs whose graph differs at each step, beside encoders, at `ops`: a row each. Ratios are of medians."""
    yield (
        "| | a plain step | ratio | --max-overhead 30% | the first steps take more | bytes a step |"
        + "\n"
        + "|---" * 6
        + "|"
    )
    ways = {"ops": recorded("ops"), "bounded": recorded("ops", max_overhead="30%")}
    for workload in VARIED:
        price, bounded = prices(workload, ways, rounds, statistics.median).values()
        first = f"{workload.first}: {price.first / 1000:.1f} s"
        bytes_ = f"{bytes_of_a_step(workload):,.0f}"
        ratios = f"{price.ratio:.2f}x | {bounded.ratio:.2f}x"
        yield f"| {workload.name} | {price.plain:.1f} ms | {ratios} | {first} | {bytes_} |"


def bytes_of_a_step(workload: Workload) -> float:
    """What one more step adds to a recording that has seen the first ones."""
    sizes = []
    with tempfile.TemporaryDirectory() as folder:
        for steps in (workload.first, workload.first + 2 * workload.steps):
            _, _, step = workload.build()
            path = Path(folder) / "run.gscope"
            with gradscope.record(path, overwrite=True):
                seconds(step, steps)
            sizes.append(path.stat().st_size)
    return (sizes[1] - sizes[0]) / (2 * workload.steps)


def first_steps(found: dict[str, list[Price]]) -> Iterator[str]:
    """What our own ways take at the beginning of a recording, in a line each."""
    for name in (name for name in found if name in DETAILS):
        more = ", ".join(f"{one.first:.0f} ms" for one in found[name])
        yield f"\nThe first {FIRST} steps at {name} take more than plain ones: {more}"


def torchlens_row(rounds: int) -> str | None:
    """torchlens logs one forward pass at a time, so it is compared with that; None where it is not installed."""
    if importlib.util.find_spec("torchlens") is None:
        return None
    import torchlens

    ratios = []
    for workload in WORKLOADS:
        model, x, _ = workload.build()
        pairs = []
        for _ in range(max(rounds // 2, 1)):
            plain = seconds(partial(model, x), workload.steps)
            pairs.append(seconds(partial(torchlens.trace, model, x), 1) / plain)
        ratios.append(statistics.median(pairs))
    return "| torchlens, of a forward pass | " + " | ".join(f"{ratio:.0f}x" for ratio in ratios) + " |"


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--details", action="store_true", help="only what gradscope's details cost the encoders")
    options.add_argument("--varied", action="store_true", help="only programs whose graph differs at each step, at ops")
    options.add_argument("--floor", action="store_true", help="only what torch's own ways of calling us cost L-BFGS")
    options.add_argument("--armed", action="store_true", help="only what a program pays that is armed")
    chosen = options.parse_args()
    rounds = chosen.rounds
    torch.set_num_threads(1)
    print(f"{machine()}, {rounds} rounds\n")
    if chosen.varied:
        for row in varied(rounds):
            print(row, flush=True)
        return
    if chosen.floor:
        print(*table((LBFGS,), FLOOR, rounds), sep="\n")
        return
    if chosen.armed:
        print(f"An armed step takes {added_by_arming():.2f} us more", flush=True)
        for workload in WORKLOADS[:2]:
            more, share = added_by_triggers(workload, rounds)
            print(f"With all triggers a step of {workload.name} takes {more:.1f} us more, {share:.2%}\n", flush=True)
        print(*armed_table(WORKLOADS[:2], PAIRS * rounds), sep="\n")
        return
    if chosen.details:
        print(*table(WORKLOADS[:2], DETAILS | NOISE, rounds), sep="\n")
        return
    print(*table(WORKLOADS, DETAILS | OTHERS | ARMED | NOISE, rounds), sep="\n", flush=True)
    row = torchlens_row(rounds)
    if row is not None:
        print(row)
    print("\nGraphs that differ at each step:\n")
    print(*varied(rounds), sep="\n", flush=True)
    print("\nWhere it comes from:\n")
    print(*table(WORKLOADS[:2], PROBES, rounds), sep="\n", flush=True)


if __name__ == "__main__":
    main()
