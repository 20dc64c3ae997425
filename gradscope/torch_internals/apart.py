"""Runs something of ours on a thread of its own before a recording.

Torch numbers nodes by thread, and the program's must begin where they do in a plain run. Not `threading.Thread`, which
counts: the program's first thread keeps its number. And it has gone before anything else happens: a program that
forks counts the threads that the system knows.
"""

from __future__ import annotations

import _thread
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")

_PATIENCE = 2.0  # seconds
_MOMENT = 0.0001


def apart(act: Callable[[], Result]) -> Result:
    """What `act` returns on another thread. It may not raise."""
    results: list[Result] = []
    native = 0
    finished = _thread.allocate_lock()
    finished.acquire()

    def run() -> None:
        nonlocal native
        native = _thread.get_native_id()
        try:
            results.append(act())
        finally:
            finished.release()

    _thread.start_new_thread(run, ())
    finished.acquire()
    wait_for_the_end_of(native)
    return results[0]


def wait_for_the_end_of(native: int) -> None:
    """Wait until the system has no such thread any more; it is a few microseconds behind Python's view."""
    entry = Path(f"/proc/self/task/{native}")
    waited = 0.0
    while waited < _PATIENCE and entry.exists():
        time.sleep(_MOMENT)
        waited += _MOMENT
