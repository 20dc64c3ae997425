"""The signal of `--arm=SIGNAL`: which it may be, and that it does no harm before the program is armed."""

from __future__ import annotations

import signal

from gradscope.errors import UsageError

_NOT_FOR_US = ("KILL", "STOP", "INT", "SEGV", "BUS", "FPE", "ILL", "ABRT", "CHLD", "TERM")  # or not for this


def signal_number(name: str) -> int | None:
    """A signal by its name, None for none. Raises UsageError."""
    if not name:
        return None
    short = name.upper().removeprefix("SIG")
    number = getattr(signal, f"SIG{short}", None)
    if not isinstance(number, signal.Signals) or short in _NOT_FOR_US:
        raise UsageError(f"no recording can be asked for with the signal {name}", "--arm=USR1 and --arm=USR2 are free")
    return int(number)


def ignore_until_armed(number: int) -> None:
    """To import torch takes seconds, in which the signal would end the process."""
    signal.signal(number, signal.SIG_IGN)
