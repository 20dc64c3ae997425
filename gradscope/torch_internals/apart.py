"""Runs something of ours on a thread of its own before a recording.

Torch numbers nodes by thread, and the program's must begin where they do in a plain run. Not `threading.Thread`, which
counts: the program's first thread keeps its number.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def apart(act: Callable[[], Result]) -> Result:
    """What `act` returns on another thread. It may not raise."""
    results: list[Result] = []
    finished = _thread.allocate_lock()
    finished.acquire()

    def run() -> None:
        try:
            results.append(act())
        finally:
            finished.release()

    _thread.start_new_thread(run, ())
    finished.acquire()
    return results[0]
