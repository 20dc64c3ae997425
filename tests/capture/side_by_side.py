"""Runs a program as plain Python does and as gradscope does."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from gradscope.store.reader import load
from tests.processes import SECONDS, end, started
from tests.torch_versions import without_noise

ROOT = Path(__file__).parent.parent.parent
# The store's server chooses its port itself, so that nobody else can have it; and no name server is asked.
_HERE = ("--standalone", "--local-addr", "127.0.0.1")
SKIP_END = "--skip-end"  # of the nursery: for runs at whose end nobody looks
TORCHRUN = ("-m", "torch.distributed.run", *_HERE, "--nproc-per-node", "2")


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
    return started(command, cwd=folder, env=environment(**more), stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)


def finish(process, seconds=SECONDS):
    """Wait for a process, and end it when it takes too long."""
    try:
        stdout, stderr = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"has not ended in {seconds} s, and printed {end(process)}") from None
    return Run(stdout, without_noise(stderr), process.returncode)


def python(folder, *arguments, **more):
    return finish(start(folder, *arguments, **more))


class SideBySide:
    """Plain runs are real or, where only speed matters, forked by the nursery as the traced ones are."""

    def __init__(self, folder: Path, *preloaded: str, **variables: str) -> None:
        self._folder, self._numbers = folder, itertools.count()
        self._command = [sys.executable, str(Path(__file__).with_name("nursery.py")), *preloaded]
        self._environment = environment(**variables)
        self._begin()

    def __enter__(self) -> SideBySide:
        return self

    def __exit__(self, *error: object) -> None:
        end(self._nursery)

    def _begin(self) -> None:
        """Start a nursery: not with `started`, because it serves many tests."""
        pipe = subprocess.PIPE
        self._nursery = subprocess.Popen(
            self._command, env=self._environment, stdin=pipe, stdout=pipe, text=True, start_new_session=True
        )

    def gradscope(self, folder, *arguments, stdin=os.devnull):
        """Run a gradscope command. `stdin` is a file that it reads."""
        return self.answer(self.ask(folder, *arguments, stdin=stdin))

    def ask(self, folder, *arguments, stdin=os.devnull):
        """Begin to run a gradscope command. Returns the number by which to wait for its answer."""
        number = next(self._numbers)
        outputs = [str(self._folder / f"{number}.{name}") for name in ("out", "err")]
        job = [str(folder), [str(argument) for argument in arguments], str(stdin), *outputs]
        with self._in_time():
            print(json.dumps(job), file=self._nursery.stdin, flush=True)
        return number

    def answer(self, number):
        """Wait for what was asked last. Returns the run."""
        with self._in_time():
            status = int(self._nursery.stdout.readline())
        stdout, stderr = (self._folder / f"{number}.{name}" for name in ("out", "err"))
        return Run(stdout.read_text(), without_noise(stderr.read_text()), status)

    @contextlib.contextmanager
    def _in_time(self):
        try:
            yield
        except BaseException:  # a time limit struck: what this nursery answers later is no answer to the next job
            self.renew()
            raise

    def renew(self):
        """Forget what was asked: another nursery takes over."""
        end(self._nursery)
        self._begin()

    def plain(self, folder, script, *arguments):
        """Run a script without gradscope."""
        return self.gradscope(folder, "--plain", script, *arguments)

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
