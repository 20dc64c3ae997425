"""Where a recorded step spends its time: a sampling profile, taken with py-spy, of the small encoder.

Torch's share holds its own operators, and what it does to call us: it is there with nothing behind them as well.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import torch
from measuring import FIRST
from workloads import SMALL

import gradscope

TORCH = "torch and the program"
PARTS = {
    "dispatch": "the record of operators",
    "format_stack": "the tokens of nodes",
    "before": "before a backward: the look at its graph",
    "after": "after a backward",
    "enter": "module calls",
    "leave": "module calls",
    "_enter": "gradients, in and out of nodes",
    "_leave": "gradients, in and out of nodes",
}
OPERATOR_RUNS = "result = run("  # the line of ours below which an operator runs
RATE, STEPS = 500, 1500


def run(detail: str) -> None:
    """The program that is profiled."""
    torch.set_num_threads(1)
    _, _, step = SMALL.build()
    with tempfile.TemporaryDirectory() as folder, gradscope.record(Path(folder) / "run.gscope", detail=detail):
        for _ in range(FIRST + STEPS):
            step()


def samples(detail: str) -> list[tuple[list[str], int]]:
    """What py-spy saw: each stack, outermost frame first, and how often."""
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "raw"
        program = [sys.executable, __file__, "--run", detail]
        sampler = str(Path(sys.executable).with_name("py-spy"))
        command = [sampler, "record", "--rate", str(RATE), "--format", "raw", "--output", str(raw), "--", *program]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        lines = raw.read_text().splitlines()
    stacks = ((line.rpartition(" ")[0].split(";"), int(line.rpartition(" ")[2])) for line in lines)
    return [(stack, count) for stack, count in stacks if any("step (" in frame for frame in stack)]


def part_of(stack: list[str], operators_run_at: str) -> str:
    """Which part a sample belongs to: that of our outermost function, unless it only waits for the operator."""
    ours = [frame for frame in stack if "gradscope/probes" in frame]
    if not ours or ours[-1].endswith(operators_run_at):
        return TORCH
    name = re.split(r"[. ]", ours[0].partition(" (")[0])[-1]
    return PARTS.get(name, "the rest of ours")


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--run", help="only run what is profiled")
    detail = options.parse_args().run
    if detail is not None:
        run(detail)
        return
    source = Path(gradscope.__file__).parent / "probes" / "operations.py"
    number = next(n for n, line in enumerate(source.read_text().splitlines(), 1) if OPERATOR_RUNS in line)
    found: dict[str, Counter[str]] = {"nodes": Counter(), "ops": Counter(), "full": Counter()}
    for detail, shares in found.items():
        for stack, count in samples(detail):
            shares[part_of(stack, f"operations.py:{number})")] += count
    print(f"| {SMALL.name} | " + " | ".join(found) + " |", "|---" * (len(found) + 1) + "|", sep="\n")
    for part in dict.fromkeys((TORCH, *PARTS.values(), "the rest of ours")):
        shares_of = (f"{100 * shares[part] / max(shares.total(), 1):.0f} %" for shares in found.values())
        print(f"| {part} | " + " | ".join(shares_of) + " |")


if __name__ == "__main__":
    main()
