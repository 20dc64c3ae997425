"""An armed program that a test asks, and that waits at chosen steps until the test has asked."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from pathlib import Path

import pytest

from gradscope.channel import address
from gradscope.channel.client import asked
from gradscope.model.request import ArmedProgram, RecordRequest
from tests.capture.side_by_side import finish, start

LIMIT = 120  # seconds in which a program comes to its next gate
MODEL = """
import pathlib, sys, time, torch
def gate(step):  # says where it is, and waits to be let on
    if f"{step}" in sys.argv[1:]:
        pathlib.Path(f"at{step}").touch()
        while not pathlib.Path(f"go{step}").exists(): time.sleep(0.005)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
"""
WAITING = MODEL + "optimizer = torch.optim.AdamW(model.parameters(), 1e-2)\n"
TRAIN = """
for step in range(60):
    gate(step)
    optimizer.zero_grad()
    loss = model(torch.randn(8, 4)).square().mean()
    loss.backward()
    optimizer.step()
    print(loss.item().hex())
"""
# The same by hand, for most tests: an optimizer imports torch's compiler, which takes as long as all the rest.
BY_HAND = """
for step in range(60):
    gate(step)
    model.zero_grad()
    loss = model(torch.randn(8, 4)).square().mean()
    loss.backward()
    with torch.no_grad():
        for one in model.parameters(): one -= 0.01 * one.grad
    print(loss.item().hex())
"""


class ArmedRun:
    """A training under `gradscope trace --arm`, in a folder."""

    def __init__(self, folder: Path, *options: str, program: str = MODEL + BY_HAND, gates: tuple[int, ...] = ()):
        self.folder = folder
        (folder / "train.py").write_text(program)
        self.gates = [str(gate) for gate in gates]
        command = ["-m", "gradscope", "trace", "-o", "run.gscope", *options, "train.py", *self.gates]
        self.process = start(folder, *command, **channels())

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait_for(self, step: int) -> None:
        """Wait until the program waits before a step."""
        wait_until((self.folder / f"at{step}").exists, self.process)

    def let_on(self, step: int) -> None:
        (self.folder / f"go{step}").touch()

    def record(self, request: RecordRequest, gate: int) -> dict[str, object]:
        """Ask while the program waits before a step, let it on, and wait for the end of the recording."""
        self.wait_for(gate)
        with asked([ArmedProgram(self.pid, "train", gate)], request) as [window]:
            self.let_on(gate)
            while "finished" not in (message := window.connection.next(LIMIT)):
                pass
            return message

    def gradscope(self, *arguments: str):
        """Run a command beside it."""
        return start(self.folder, "-m", "gradscope", *arguments, **channels())

    def end(self):
        for gate in self.gates:
            self.let_on(int(gate))
        return finish(self.process)


def channels() -> dict[str, str]:
    """What the programs of a test need to find each other, and nobody else."""
    return {address.VARIABLE: str(address.folder()), "OMP_NUM_THREADS": "1"}


def wait_until(condition, process=None) -> None:
    """Wait until something is so; a process that has ended makes nothing so any more."""

    until = time.monotonic() + LIMIT
    while not condition():
        if process is not None and process.poll() is not None and not condition():
            pytest.fail(f"it has ended: {finish(process)}")
        if time.monotonic() > until:
            pytest.fail(f"not so after {LIMIT} s")
        time.sleep(0.005)


@contextlib.contextmanager
def own_channels(monkeypatch):
    """A folder of sockets for a test alone: its path has to be short."""
    folder = tempfile.mkdtemp(prefix="gs-", dir="/tmp")
    monkeypatch.setenv(address.VARIABLE, folder)
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
