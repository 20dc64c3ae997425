"""Arms a program as a user writes it: which signal asks, and what each recording has of the usual options."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

from gradscope.arming.armed import Armed, MakeRecorder
from gradscope.capture import Recorder
from gradscope.errors import UsageError
from gradscope.model.detail import Detail
from gradscope.model.limits import Limits
from gradscope.model.request import RecordRequest
from gradscope.model.window import Window

_NOT_FOR_US = ("KILL", "STOP", "INT", "SEGV", "BUS", "FPE", "ILL", "ABRT", "CHLD", "TERM")  # or not for this


def armed(make: MakeRecorder, path: Path, detail: str, bounds: tuple[Window, Limits], name: str) -> Armed:
    """A program that records when it is asked to; `name` is the signal's that asks as well, "" for none.

    Raises UsageError when the options do not go together.
    """
    window, limits = bounds
    if window != Window():
        raise UsageError("--arm waits to be asked which steps to record", "leave --steps and --keep-last out")

    def recorder(where: Path, chosen: Detail, steps: Window, **more: Any) -> Recorder:
        return make(where, chosen, steps, limits, **more)

    return Armed(recorder, path, RecordRequest(detail=detail), signal_number(name))


def signal_number(name: str) -> int | None:
    """A signal by its name, None for none. Raises UsageError."""
    if not name:
        return None
    short = name.upper().removeprefix("SIG")
    number = getattr(signal, f"SIG{short}", None)
    if not isinstance(number, signal.Signals) or short in _NOT_FOR_US:
        raise UsageError(f"no recording can be asked for with the signal {name}", "--arm=USR1 and --arm=USR2 are free")
    return int(number)
