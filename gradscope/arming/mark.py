"""Leaves a mark of a process that is not recorded and could have been: at the price of a call for each step."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from gradscope.arming.boundary import NEVER, StepBoundary
from gradscope.channel import address
from gradscope.errors import GradscopeError


def leave_a_mark(path: Path) -> None:
    """Add this process to a file, once it runs a backward: there is something to record."""

    def mark(step: int) -> None:
        boundary.due = NEVER
        with contextlib.suppress(OSError, GradscopeError):
            path.parent.mkdir(mode=0o700, exist_ok=True)
            address.check(path.parent)
            with path.open("a", encoding="ascii") as marks:
                marks.write(f"{os.getpid()}\n")

    boundary = StepBoundary(mark)
    boundary.put()
