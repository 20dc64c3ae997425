"""Checks the Functions of many modules in worker processes: torch is loaded once, and each worker is forked from that.

A worker imports one module after another and checks what it defines. Whatever a module does when it is imported, hang,
crash or exit, costs that worker alone: another one takes its place, and the report says what happened.
"""

from __future__ import annotations

import contextlib
import fnmatch
import importlib
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from typing import Any

from gradscope.functions.check import Result, Settings, check_one
from gradscope.functions.loading import functions_in
from gradscope.functions.packages import FoundModule
from gradscope.functions.trials.run import warm_up
from gradscope.model.report import SubjectReport, Unchecked, Unimported, Verdict

IMPORTING = 60.0  # seconds that one import may take
GRACE = 20.0  # seconds beyond its own limit that a check may take, on a machine that is busy
Answer = Result | Unchecked | Unimported


@dataclass(frozen=True, slots=True)
class Task:
    """A module to import, with the Functions that are to be checked and those that are done."""

    module: FoundModule
    done: tuple[str, ...] = ()


@dataclass
class Worker:
    """A process, what it works on, and since when nothing was heard of it."""

    process: Any
    pipe: Connection
    task: Task | None = None
    current: str = ""
    since: float = field(default_factory=time.monotonic)

    def end(self) -> None:
        """End the process and all that it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.pipe.close()


def check_modules(modules: list[FoundModule], settings: Settings, pattern: str | None = None) -> Iterator[Answer]:
    """The reports on all Functions of some modules as they come, and the modules that could not be imported."""
    pool = Pool(settings, pattern)
    try:
        yield from pool.run([Task(module) for module in modules])
    finally:
        pool.end()


class Pool:
    """The workers, and what is left to do."""

    def __init__(self, settings: Settings, pattern: str | None) -> None:
        self.settings = settings
        self.pattern = pattern
        self.workers: list[Worker] = []

    def run(self, tasks: list[Task]) -> Iterator[Answer]:
        """Hand out tasks until none is left and all workers are idle."""
        warm_up()  # once for all workers
        waiting = list(tasks)
        while waiting or any(worker.task for worker in self.workers):
            self.hand_out(waiting)
            busy = {worker.pipe: worker for worker in self.workers if worker.task}
            for pipe in wait(list(busy), timeout=1.0):
                yield from self.heard(busy[pipe], waiting)  # type: ignore[index]
            for worker in list(self.workers):
                if worker.task and time.monotonic() - worker.since > self.patience(worker):
                    yield from self.lost(worker, f"did not end within {self.patience(worker):.0f} s", waiting)

    def hand_out(self, waiting: list[Task]) -> None:
        """Give every idle worker a task; start workers up to the number of jobs."""
        while waiting:
            idle = next((worker for worker in self.workers if worker.task is None), None)
            if idle is None and len(self.workers) >= self.settings.jobs:
                return
            worker = idle or self.start()
            worker.task, worker.current, worker.since = waiting.pop(0), "", time.monotonic()
            worker.pipe.send(worker.task)

    def start(self) -> Worker:
        """Fork a worker, which has torch loaded from the start."""
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, self.settings, self.pattern))
        process.start()
        theirs.close()
        self.workers.append(Worker(process, ours))
        return self.workers[-1]

    def patience(self, worker: Worker) -> float:
        """The seconds that a worker may be silent."""
        return self.settings.limit + GRACE if worker.current else IMPORTING

    def heard(self, worker: Worker, waiting: list[Task]) -> Iterator[Answer]:
        """Take one message of a worker."""
        worker.since = time.monotonic()
        try:
            kind, value = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join(GRACE)
            yield from self.lost(worker, f"ended the process with status {worker.process.exitcode}", waiting)
            return
        if kind == "begins":
            worker.current = value
        elif kind == "ends":
            worker.task = None
        elif kind == "unimported":
            yield value
        elif worker.task is not None:
            worker.task = replace(worker.task, done=(*worker.task.done, worker.current))
            yield value

    def lost(self, worker: Worker, reason: str, waiting: list[Task]) -> Iterator[Answer]:
        """Give up a worker; what it has not done of its module, another one does."""
        worker.end()
        self.workers.remove(worker)
        task = worker.task
        if task is None:
            return
        if not worker.current:
            yield Unimported(task.module.name, f"importing it {reason}")
            return
        name = f"{task.module.name}.{worker.current}"
        yield SubjectReport(name, None, Verdict.NOT_CHECKED, not_checked=(f"the check {reason}",)), ()
        waiting.insert(0, replace(task, done=(*task.done, worker.current)))

    def end(self) -> None:
        """End all workers."""
        for worker in self.workers:
            worker.end()


def work(pipe: Connection, settings: Settings, pattern: str | None) -> None:
    """The worker: import a module, check its Functions, tell each result, until nobody asks any more."""
    os.setsid()  # so that it is ended together with the processes that it starts
    silence = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silence, descriptor)
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123, for the process's life
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        imported = import_quietly(task.module)
        if isinstance(imported, Unimported):
            pipe.send(("unimported", imported))
        else:
            check_each(pipe, imported, task, settings, pattern)
        pipe.send(("ends", None))


def import_quietly(module: FoundModule) -> Any:
    """The module, or why it cannot be imported."""
    if module.root and module.root not in sys.path:
        sys.path.insert(0, module.root)
    try:
        return importlib.import_module(module.name)
    except (Exception, SystemExit) as error:
        lines = str(error).strip().splitlines()
        return Unimported(module.name, f"{type(error).__name__}: {lines[0] if lines else ''}"[:200])


def check_each(pipe: Connection, module: Any, task: Task, settings: Settings, pattern: str | None) -> None:
    """Check the Functions of a module that are not done yet."""
    for function in functions_in(module):
        name = function.__name__
        if name in task.done or (pattern and not fnmatch.fnmatch(name, pattern)):
            continue
        pipe.send(("begins", name))
        pipe.send(("report", checked(f"{module.__name__}.{name}", function, settings)))


def checked(name: str, function: type, settings: Settings) -> Answer:
    """What is said of one Function; where its module does not let itself be looked at, why."""
    try:
        return check_one(name, function, settings)
    except Exception as error:
        reason = f"looking at it raises {type(error).__name__}: {error}".splitlines()[0]
        return SubjectReport(name, None, Verdict.NOT_CHECKED, not_checked=(reason[:200],)), ()
