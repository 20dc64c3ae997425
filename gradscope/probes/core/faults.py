"""Faults inside gradscope are noted in the recording and never reach the user's program.

The surprise: an exception inside one of our callbacks need not be ours. A signal handler of the script (a timeout)
may raise while our code runs; that one must go through.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from gradscope.probes.core.sink import Sink
from gradscope.signals import let_through

_DEVICE_FAILED: Any = getattr(torch, "AcceleratorError", ())  # of any look at a device, once a kernel has failed
LIMIT = 20  # faults after which a probe is switched off
_LONGEST = 300  # characters of a message


class Faults:
    """Takes the faults of all probes, and switches off a probe that goes on failing."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._counts: dict[str, int] = {}
        self._switches: dict[str, Callable[[], None]] = {}
        self.switched_off: list[str] = []

    def switch(self, probe: str, off: Callable[[], None]) -> None:
        """Say how a probe is switched off."""
        self._switches[probe] = off

    def note(self, probe: str, error: Exception) -> None:
        """Note one, or raise it again when it is the script's."""
        let_through(error)
        if isinstance(error, _DEVICE_FAILED):  # the program's, which is told by its next use of the device
            return self._switch_off(probe, "")
        count = self._counts[probe] = self._counts.get(probe, 0) + 1
        if count <= LIMIT:
            self._sink.fault(probe, described(error))
        if count == LIMIT:
            self._switch_off(probe, f"switched off after {LIMIT} faults")

    def _switch_off(self, probe: str, told: str) -> None:
        off = self._switches.pop(probe, None)
        if off is None:
            return
        if told:
            self.switched_off.append(probe)
            self._sink.fault(probe, told)
        try:
            off()
        except Exception as error:
            self.note(probe, error)


def described(error: BaseException) -> str:
    """Class and words of an exception, cut to a length that a line can take."""
    try:
        return f"{type(error).__name__}: {error}"[:_LONGEST]
    except Exception as second:  # an exception of the script's, with words that fail
        let_through(second)
        return type(error).__name__
