"""Compares what torch's own samples and tests do plainly and traced. Not a part of the test suite: minutes to hours.

python -m tests.peers.compare                        the first samples of each operator of torch's database
python -m tests.peers.compare --samples 0            all of its samples
python -m tests.peers.compare /path/to/pytorch/test  and its own tests, of a checkout that fits the installed torch
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

DETAILS = ("nodes", "ops", "full")
CHUNK = 40  # operators a process
HOURS = 2 * 3600
OPERATORS = Path(__file__).with_name("operators.py")
TESTS = (
    "test_autograd.py",
    "functorch/test_eager_transforms.py",
    "autograd/test_functional.py",
    "nn/test_module_hooks.py",
    "test_utils.py::TestCheckpoint",
)

# Differences that are torch's: what it says of them, by the operator's name.
UNFILLED_PIVOTS = "LAPACK's gelsy is given pivots that torch leaves unfilled: rounding hangs on what the memory held"
EXPECTED: dict[str, str] = {"linalg.lstsq": UNFILLED_PIVOTS, "linalg.lstsq.grad_oriented": UNFILLED_PIVOTS}


def run(*command: str | Path, folder: Path | None = None) -> list[str]:
    """The lines that a program prints."""
    threads = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        check=False,
        capture_output=True,
        text=True,
        timeout=HOURS,
        env=threads,
        cwd=folder,
    )
    return [
        *done.stdout.splitlines(),
        *([f"ended with {done.returncode}: {done.stderr[-400:]}"] if done.returncode else []),
    ]


def traced(detail: str, *command: str | Path, folder: Path | None = None) -> list[str]:
    """The same under gradscope, whose recording nobody reads."""
    with tempfile.TemporaryDirectory() as scratch:
        recording = Path(scratch, "run.gscope")
        options = ("--no-explain", "--quiet", "--detail", detail, "-o", recording)
        return run("-m", "gradscope", "trace", *options, *command, folder=folder)


def samples(most: int, device: str, jobs: int) -> int:
    """Compare torch's operator database in pieces, so many at once."""
    starts = range(0, int(run(OPERATORS, "count")[-1]), CHUNK)
    with ThreadPoolExecutor(jobs) as pool:
        return sum(pool.map(lambda start: piece(start, start + CHUNK, most, device), starts))


def piece(start: int, stop: int, most: int, device: str) -> int:
    """Compare some operators; what differs between two plain runs proves nothing."""
    command, differ = (OPERATORS, str(start), str(stop), str(most), device), 0
    plain, again = run(*command), run(*command)
    steady = [one for one, other in zip(plain, again, strict=False) if one == other]
    for detail in DETAILS:
        seen = set(traced(detail, *command))
        differ += report(detail, [one for one in steady if one not in seen], seen)
    print(f"operators {start} to {stop - 1}: {len(steady)} samples compared", flush=True)
    return differ


def report(detail: str, missing: list[str], seen: set[str]) -> int:
    """Say what differs, and how; what is expected only in a word."""
    differ = 0
    for line in missing:
        head = line.partition(":")[0]
        if reason := EXPECTED.get(head.split()[0]):
            print(f"{detail}: {head}: expected, {reason}")
            continue
        differ += 1
        other = next((one for one in seen if one.startswith(f"{head}:")), "nothing")
        print(f"{detail}: {line[:400]}\n{' ' * len(detail)}  {other[:400]}")
    return differ


def tests(folder: Path) -> int:
    """Compare which of torch's own tests pass."""
    differ = 0
    for name in TESTS:
        if not (folder / name.partition("::")[0]).exists():
            print(f"{name} is not there")
            continue
        pytest = ("--noconftest", "-p", "no:cacheprovider", "-p", "no:xdist", "-q", "-rA", name)
        plain = outcomes(lines := run("-m", "pytest", *pytest, folder=folder))
        if "PASSED" not in plain.values():
            print(f"{name} could not be run: {lines[-1] if lines else 'nothing was printed'}", flush=True)
            continue
        for detail in DETAILS:
            seen = outcomes(traced(detail, "-m", "pytest", *pytest, folder=folder))
            others = sorted(one for one in plain.keys() | seen.keys() if plain.get(one) != seen.get(one))
            for one in others:
                print(f"{detail}: {one}: {plain.get(one)} plainly, {seen.get(one)} traced")
            differ += len(others)
        print(f"{name}: {len(plain)} tests compared", flush=True)
    return differ


def outcomes(lines: list[str]) -> dict[str, str]:
    """Each test with how it ended."""
    words = (line.split() for line in lines)
    return {two[1]: two[0] for two in words if len(two) > 1 and two[0] in ("PASSED", "FAILED", "ERROR", "XPASS")}


def main() -> int:
    """How many differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="torch's own tests")
    parser.add_argument("--samples", type=int, default=3, help="of each operator and dtype; 0: all")
    parser.add_argument("--device", default="cpu", help="where the samples are: cpu, cuda")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    given = parser.parse_args()
    differ = samples(given.samples, given.device, given.jobs) + (tests(given.folder) if given.folder else 0)
    print("all the same" if not differ else f"{differ} differ")
    return differ


if __name__ == "__main__":
    sys.exit(main() > 0)
