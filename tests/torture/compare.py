"""Compares a plain run with a recorded one: everything that a user could see but gradscope's own lines."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from gradscope.store.reader import load
from tests.capture.side_by_side import Run

PROGRAMS = Path(__file__).parent / "programs"
ONE_THREAD = {"OMP_NUM_THREADS": "1"}  # tiny tensors: on a busy machine several threads mostly wait for each other
DETAILS = ("nodes", "ops", "full")
PEAK = "peak bytes: "  # a line of stdout that may differ, by MARGIN
MARGIN = {"nodes": 0.02, "ops": 0.02, "full": 0.35}  # at `full` the engine keeps what the running node received
_DETAILS = re.compile(r"^# details: (.*)$", re.MULTILINE)
_PYTHON = re.compile(r"^# python:(.*)$", re.MULTILINE)


def programs(folder=PROGRAMS):
    """Every program, one a file; what begins with an underscore is shared by them."""
    return sorted(path for path in folder.glob("*.py") if not path.name.startswith("_"))


def details(program):
    """The details at which a program is compared: all, or those that a line `# details: nodes` in it names."""
    named = _DETAILS.search(program.read_text())
    return tuple(named[1].split()) if named else DETAILS


def options(program):
    """The options of Python with which a program asks for processes of its own, None when a forked one will do."""
    asked = _PYTHON.search(program.read_text())
    return None if asked is None else asked[1].split()


def without_own_lines(run):
    """The run as a reader sees it who leaves out what gradscope says."""
    lines = run.stderr.splitlines(keepends=True)
    return Run(run.stdout, "".join(line for line in lines if not line.startswith("gradscope: ")), run.status)


def peaks(text):
    return [int(line.removeprefix(PEAK)) for line in text.splitlines() if line.startswith(PEAK)]


def without_peaks(run):
    kept = [line for line in run.stdout.splitlines(keepends=True) if not line.startswith(PEAK)]
    return Run("".join(kept), run.stderr, run.status)


def differences(plain, traced):
    """Both runs line by line as a text, "" when they are the same."""
    texts = [f"status {run.status}\n{run.stdout}\n--- stderr\n{run.stderr}".splitlines() for run in (plain, traced)]
    return "\n".join(difflib.unified_diff(*texts, "plain", "traced", lineterm="", n=1))


def assert_same(plain, traced, detail):
    """Raise unless both runs look the same and their peaks are near each other."""
    traced = without_own_lines(traced)
    different = differences(without_peaks(plain), without_peaks(traced))
    assert not different, different
    for ours, theirs in zip(peaks(traced.stdout), peaks(plain.stdout), strict=True):
        assert ours <= theirs * (1 + MARGIN[detail]), f"{ours} bytes at most, {theirs} without gradscope"


def assert_sound(recording):
    """Raise unless a recording can be read and gradscope had no fault of its own."""
    with load(str(recording)) as held:
        faults = held.faults()
        assert faults == (), faults
        held.run()
        for backward in held.backwards():
            held.graph(backward.number)
