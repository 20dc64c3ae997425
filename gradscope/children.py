"""Records the processes that a traced program starts, each into a file of its own.

A forked child begins again what its parent does; a Python that is started finds in its environment what to do
(`launch/handing_on.py`), and `autostart` asks for it here. A child says nothing: its parent counts the files.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from collections.abc import Callable
from functools import partial
from multiprocessing import util
from pathlib import Path
from types import TracebackType

from gradscope import capture
from gradscope.arming.armed import Armed
from gradscope.arming.mark import leave_a_mark
from gradscope.arming.plan import Plan
from gradscope.arming.recorder import recorder
from gradscope.arming.ring import Ring
from gradscope.arming.rotation import Rotation
from gradscope.capture import Recorder
from gradscope.errors import GradscopeError
from gradscope.launch.handing_on import Children
from gradscope.launch.paths import SUFFIX, default_path
from gradscope.model.family import OF_PARENTS, Family
from gradscope.probes.core.traceback_filter import clean
from gradscope.signals import let_through
from gradscope.torch_internals.running import NO_TASK, current_task

Hook = Callable[[type[BaseException], BaseException, TracebackType | None], object]

AUTOGRAD = frozenset({"backward", "process_group", "collective_run"})  # without one, a child has done nothing of note
ANYTHING = AUTOGRAD | {"block"}  # a rank may hang before its first backward
_LAST = -1_000_000  # among what multiprocessing runs at the end of a process


class Recorded:
    """This process is recorded from `start` on until it ends, however that is."""

    def __init__(self, found: Recorder | Ring | Rotation | Armed, tell: Callable[[str], object]) -> None:
        """`tell` is told what went wrong."""
        self._found, self._tell, self._process = found, tell, os.getpid()
        self._uncaught: list[BaseException] = []

    def start(self) -> None:
        """Begin. A worker of multiprocessing that was forked runs no function of atexit: it has its own."""
        self._found.start()
        atexit.register(self._stop)
        sys.excepthook = _without_our_frames(sys.excepthook, self._uncaught)
        util.register_after_fork(self, Recorded._with_multiprocessing)
        self._with_multiprocessing()

    def _with_multiprocessing(self) -> None:
        if os.getpid() == self._process:
            util.Finalize(None, self._stop_worker, exitpriority=_LAST)

    def _stop_worker(self) -> None:
        error = sys.exc_info()[1]
        if isinstance(error, SystemExit):  # torch's own workers report what was raised, and leave with a status
            error = error.__context__ if error.code else None
        if error is not None:
            self._uncaught[:] = [error]
        self._stop()

    def _stop(self) -> None:
        """Close the recording; in a process that was forked since, and again, do nothing."""
        if os.getpid() != self._process:
            return
        summary = self._found.stop(self._uncaught.pop() if self._uncaught else None)
        if self._found.abandoned:
            return
        if isinstance(self._found, Armed):
            for sentence in self._found.trouble:
                self._tell(f"not recorded: {sentence}")
        elif isinstance(summary, capture.Summary):
            self._tell_of(summary)

    def _tell_of(self, summary: capture.Summary) -> None:
        if summary.failure:
            self._tell(f"the recording stopped early: {summary.failure}")
        if summary.faults:
            self._tell(f"{sum(summary.faults.values())} faults of its own, see: gradscope info {summary.path}")


def join(family: Family, title: str, is_rank: bool) -> None:
    """Record this process, a child, and say nothing. Its recording is called by `title`."""
    if family.which == OF_PARENTS[2]:
        leave_a_mark(Path(family.unrecorded))
        return
    Children.forked = partial(join_forked, family)
    usual = default_path(title, Path(family.folder))
    path = usual if is_rank else usual.with_name(f"{title}.{os.getpid()}{SUFFIX}")
    with contextlib.suppress(GradscopeError):  # such as a file of a process that had this number before
        awaited = ANYTHING if is_rank else AUTOGRAD
        found = recorder(Plan.read(family.settings), path, awaited, late=True, keep_empty=False)
        Recorded(found, lambda sentence: None).start()
        if not is_rank and isinstance(found, Recorder):  # until torch.distributed says so: a rank's workers are none
            found.writer.set_run({"rank": None, "world_size": None})


def join_forked(family: Family) -> None:
    """Record this process, which was forked."""
    if family.settings["arm"] is None:  # else nobody could ask: it has no socket
        join(family, family.title, is_rank=False)


def _without_our_frames(show: Hook, uncaught: list[BaseException]) -> Hook:
    def excepthook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        clean(error)
        uncaught[:] = [error]
        show(kind, error, error.__traceback__)

    return excepthook


def _in_child() -> None:
    """Begin, but not in the middle of a backward, whose hook has forked: torch tells errors there otherwise then."""
    if Children.forked is not None and current_task() == NO_TASK:
        try:
            Children.forked()
        except Exception as error:
            let_through(error)  # whatever fails here is ours


os.register_at_fork(after_in_child=_in_child)  # after those that leave the parent's recording, which stand above
