"""Whether what recording leaves out to be quick changes what is found, and what finding it costs.

`python benchmarks/detection.py verdicts` explains every fault of the corpus, and its repaired twin, as traced by
default, with `--watch-all` and with `--detail full`; `probes` measures what each probe adds to a step at `ops`;
`training` what it adds to record how a program trains; `explain` how long a recording of 2,000 steps takes to be
explained.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from queue import SimpleQueue

import torch
from measuring import BLOCKS, machine, quiet, seconds, steps_under
from probes import adding_up, left_out, timed, without
from reading import cpu_seconds
from workloads import LARGE, MAML, RECURRENT, SMALL, TEXT, VARIED, Workload

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import gradscope
from gradscope.anomaly import explain
from gradscope.model.detail import Detail
from gradscope.model.finding import Severity
from gradscope.model.report import Report
from gradscope.probes.core.context import Options
from gradscope.probes.table import AT_BACKWARDS, ENTERED
from gradscope.store.reader import load
from tests.capture.side_by_side import SKIP_END, SideBySide
from tests.explain.corpus import FAULTS, faults, twins

TRACED = {"default": (), "--watch-all": ("--watch-all",), "--detail full": ("--detail", "full")}
BEFOREHAND = ("torch._dynamo", "tests.capture.all_heard", SKIP_END)  # what many of the scripts would import or wait for
NEEDED = {"nodes": "needed: graphs are walked by its tokens"}
VARYING = (SMALL, TEXT, MAML, RECURRENT)
MOST = 2.0  # CPU seconds that explaining one may take


@dataclass(frozen=True)
class Verdict:
    """What is said of a run: the first finding's code, file and line, and all codes from a warning on."""

    first: tuple[str, str, int] | None
    alarms: frozenset[str]

    def __str__(self) -> str:
        first = "nothing" if self.first is None else f"{self.first[0]} {self.first[1]}:{self.first[2]}"
        return f"{first} [{' '.join(sorted(self.alarms))}]"


def verdict(report: Report) -> Verdict:
    """The verdict of a report."""
    alarms = frozenset(finding.code for finding in report.at_least(Severity.WARNING))
    if not report.findings:
        return Verdict(None, alarms)
    first = report.findings[0]
    file, line = ("", 0) if first.site is None else (Path(first.site.file).name, first.site.line)
    return Verdict((first.code, file, line), alarms)


class Judges:
    """Traces and explains scripts, so many at a time."""

    def __init__(self, jobs: int) -> None:
        self._jobs, self._entered = jobs, ExitStack()
        self._runs: SimpleQueue[SideBySide] = SimpleQueue()

    def __enter__(self) -> Judges:
        self._folder = Path(self._entered.enter_context(tempfile.TemporaryDirectory()))
        for number in range(self._jobs):
            folder = self._folder / str(number)
            folder.mkdir()
            self._runs.put(self._entered.enter_context(SideBySide(folder, *BEFOREHAND, OMP_NUM_THREADS="1")))
        return self

    def __exit__(self, *error: object) -> None:
        self._entered.close()

    def of(self, scripts: list[Path]) -> Iterator[tuple[Path, list[Verdict]]]:
        """Each script with its verdicts, in the order of TRACED."""
        with ThreadPoolExecutor(self._jobs) as pool:
            yield from zip(scripts, pool.map(self._verdicts, scripts), strict=True)

    def _verdicts(self, script: Path) -> list[Verdict]:
        runs = self._runs.get()
        try:
            return [self._verdict(runs, script, options) for options in TRACED.values()]
        finally:
            self._runs.put(runs)

    def _verdict(self, runs: SideBySide, script: Path, options: tuple[str, ...]) -> Verdict:
        _, path = runs.traced(script.parent, *options, script)
        with load(path) as recording:
            found = verdict(explain(recording))
        path.unlink()
        return found


def head(*names: str) -> None:
    """Begin a table."""
    row(*names)
    row(*("---" for _ in names))


def row(*cells: str) -> None:
    """Print a row of a table."""
    print("| " + " | ".join(cells) + " |", flush=True)


def name_of(script: Path) -> str:
    """A script as it is called in the corpus."""
    return str(script.relative_to(FAULTS))


def verdicts(chosen: argparse.Namespace) -> None:
    """Print how many verdicts are the same, and those that differ."""
    everything = [*(fault.script for fault in faults()), *twins()]
    scripts = [script for script in everything if fnmatch(name_of(script), f"*{chosen.only}*")]
    same = alarmed = 0
    head("", *TRACED)
    with Judges(chosen.jobs) as judges:
        for script, found in judges.of(scripts):
            same, alarmed = same + (len(set(found)) == 1), alarmed + any(one.alarms for one in found)
            if len(set(found)) > 1:
                row(name_of(script), *map(str, found))
    print(f"\n{same} of {len(scripts)} scripts have the same verdict in each way; {alarmed} have errors or warnings")


def probe_names() -> list[str]:
    """The probes that a recording has by default."""
    options = Options(Detail.OPS, frozenset(), watch_all=False, tensors=None, folder=Path())
    return list(dict.fromkeys(entry.name for entry in (*ENTERED, *AT_BACKWARDS) if entry.is_wanted(options)))


def price(workload: Workload, name: str, rounds: int) -> str:
    """What a probe adds to a step and to the first steps: medians over the same steps with it and without it."""
    if not rounds:
        return "not measured"
    pairs = [(steps_under(workload, without("ops")), steps_under(workload, left_out(name))) for _ in range(rounds)]
    blocks = [both for whole, rest in pairs for both in zip(whole[1:], rest[1:], strict=True)]
    step = statistics.median(whole - rest for whole, rest in blocks)
    first = statistics.median(whole[0] - rest[0] for whole, rest in pairs) * workload.first
    share = step / statistics.median(whole for whole, _ in blocks)
    return f"{step * 1e6:+,.0f} us ({share:+.1%}), {first * 1e3:+,.0f} ms"


def around_backwards(workload: Workload) -> dict[str, str]:
    """What each probe takes of a step when it is told of backward calls: too little to show in a step's time."""
    spent: Counter[str] = Counter()
    _, _, step = workload.build()
    steps = workload.steps * BLOCKS
    with tempfile.TemporaryDirectory() as folder, timed(spent), without("ops")(Path(folder)):
        seconds(step, workload.first)
        spent.clear()
        seconds(step, steps)
    return {name: f"{taken / steps * 1e6:,.0f} us" for name, taken in spent.items()}


def probes(chosen: argparse.Namespace) -> None:
    """Print what each probe adds to a step."""
    for workload in VARIED:
        if chosen.only in workload.name:
            around = around_backwards(workload)
            head(workload.name, "a step; the first steps", "of it around backward calls")
            for name in ["nothing (the noise)", *probe_names()]:
                row(name, NEEDED.get(name) or price(workload, name, chosen.rounds), around.get(name, ""))
            print()


def training(chosen: argparse.Namespace) -> None:
    """Print what it costs to record how a program trains: the time in these probes, and a plain step beside it.

    It is added up by itself, since the difference of two recordings is smaller than what a machine does meanwhile. Of
    each step both are measured in turn, and lower quartiles are compared.
    """
    head("workload", "a plain step", "in these probes", "of a step")
    for workload in (SMALL, LARGE):
        plain, spent = list[float](), list[float]()
        for _ in range(chosen.rounds):
            _, _, step = workload.build()
            seconds(step, workload.first)
            plain += [seconds(step, 1) for _ in range(workload.steps)]
            with tempfile.TemporaryDirectory() as folder, adding_up(spent), without("ops")(Path(folder)):
                spent.append(0.0)
                seconds(step, workload.first)
                del spent[-1]
                for _ in range(workload.steps):
                    spent.append(0.0)
                    step()
        taken, whole = quiet(spent), quiet(plain)
        row(workload.name, f"{whole * 1e3:,.2f} ms", f"{taken * 1e6:,.0f} us", f"{taken / whole:+.4f}x")


def explaining(chosen: argparse.Namespace) -> None:
    """Print what explaining long recordings costs."""
    head("recording", "size", "found", "CPU")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.gscope"
        for workload in VARYING:
            _, _, step = workload.build()
            with gradscope.record(path, overwrite=True):
                seconds(step, chosen.steps)
            least = min(cpu_seconds(path, "explain --exit-zero") for _ in range(chosen.rounds))
            with load(path) as recording:
                found = verdict(explain(recording))
            name, size = f"{workload.name}, {chosen.steps:,} steps", f"{path.stat().st_size / 1e6:.1f} MB"
            row(name, size, str(found), f"{least:.2f} s{'' if least < MOST else ', too long'}")


def main() -> None:
    """Do what was asked for."""
    options = argparse.ArgumentParser(description=__doc__)
    parts = options.add_subparsers(required=True)
    part = parts.add_parser("verdicts", help="whether they are the same however a fault is traced")
    part.add_argument("--jobs", type=int, default=2)
    part.add_argument("--only", default="", metavar="PATTERN", help="scripts whose path has this in it")
    part.set_defaults(run=verdicts)
    part = parts.add_parser("probes", help="what each adds to a step")
    part.add_argument("--rounds", type=int, default=3, help="0: only what is done around backward calls")
    part.add_argument("--only", default="", metavar="TEXT", help="workloads with this in their name")
    part.set_defaults(run=probes)
    part = parts.add_parser("training", help="what recording how a program trains adds to a step")
    part.add_argument("--rounds", type=int, default=9)
    part.set_defaults(run=training)
    part = parts.add_parser("explain", help="how long explaining takes")
    part.add_argument("--rounds", type=int, default=3)
    part.add_argument("--steps", type=int, default=2000)
    part.set_defaults(run=explaining)
    chosen = options.parse_args()
    torch.set_num_threads(1)
    print(f"{machine()}\n", flush=True)
    chosen.run(chosen)


if __name__ == "__main__":
    main()
