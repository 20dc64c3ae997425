"""Runs a program as plain Python does and as gradscope does."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from gradscope.store.reader import load

ROOT = Path(__file__).parent.parent.parent
SECONDS = 100  # for one run, on a machine that may be busy; below the time limit of a test


@dataclass(frozen=True)
class Run:
    """What a program left behind; tests compare whole runs."""

    stdout: str
    stderr: str
    status: int


def environment(**more):
    """This one without gradscope's own variables, and with the package importable from everywhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GRADSCOPE_")}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **more}


def start(folder, *arguments, **more):
    """Start Python in a folder."""
    pipe = subprocess.PIPE
    command = [sys.executable, *map(str, arguments)]
    return subprocess.Popen(command, cwd=folder, env=environment(**more), stdout=pipe, stderr=pipe, text=True)


def finish(process, seconds=SECONDS):
    """Wait for a process, and end it when it takes too long."""
    try:
        stdout, stderr = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"has not ended in {seconds} s, and printed {process.communicate()}") from None
    return Run(stdout, stderr, process.returncode)


def python(folder, *arguments, **more):
    return finish(start(folder, *arguments, **more))


class SideBySide:
    """Plain runs are real or, where only speed matters, forked by the nursery as the traced ones are."""

    def __init__(self, folder: Path, *preloaded: str, **variables: str) -> None:
        self._folder, self._numbers = folder, itertools.count()
        pipe = subprocess.PIPE
        command = [sys.executable, str(Path(__file__).with_name("nursery.py")), *preloaded]
        self._nursery = subprocess.Popen(command, env=environment(**variables), stdin=pipe, stdout=pipe, text=True)

    def __enter__(self) -> SideBySide:
        return self

    def __exit__(self, *error: object) -> None:
        self._nursery.stdin.close()
        self._nursery.stdout.close()
        self._nursery.wait()

    def gradscope(self, folder, *arguments):
        """Run a gradscope command."""
        stdout, stderr = self._folder / "stdout", self._folder / "stderr"
        job = [str(folder), [str(argument) for argument in arguments], str(stdout), str(stderr)]
        print(json.dumps(job), file=self._nursery.stdin, flush=True)
        status = int(self._nursery.stdout.readline())
        return Run(stdout.read_text(), stderr.read_text(), status)

    def plain(self, folder, script):
        """Run a script without gradscope."""
        return self.gradscope(folder, "--plain", script)

    def traced(self, folder, *program, detail="ops", quiet=("-q",)):
        """Run a program under `gradscope trace -q`. Returns the run and the path of its recording."""
        path = self._folder / f"{next(self._numbers)}.gscope"
        return self.gradscope(folder, "trace", *quiet, "-o", path, "--detail", detail, *program), path

    def pair(self, folder, *program, detail="ops"):
        """The plain and the traced run of a program."""
        plain = start(folder, *program)
        traced, _ = self.traced(folder, *program, detail=detail)
        return finish(plain), traced


def backwards(path):
    """How many backward calls a recording holds."""
    with load(str(path)) as recording:
        return len(recording.backwards())
