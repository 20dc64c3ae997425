"""Faults inside gradscope are noted in the recording and never reach the user's program.

The surprise: an exception inside one of our callbacks need not be ours. A signal handler of the script (a timeout)
may raise while our code runs; that one must go through.
"""

from __future__ import annotations

import os
from types import TracebackType

from gradscope.probes.sink import Sink

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIMIT = 20  # faults after which a probe is switched off


def is_ours(error: BaseException) -> bool:
    """Whether an exception caught in a callback was raised by gradscope's own code, or by what it called in torch."""
    innermost: TracebackType | None = error.__traceback__
    while innermost is not None and innermost.tb_next is not None:
        innermost = innermost.tb_next
    if innermost is None:
        return True
    file = innermost.tb_frame.f_code.co_filename
    return file.startswith(_HERE) or f"{os.sep}torch{os.sep}" in file


class Faults:
    """Takes the faults of all probes; `off(probe)` answers whether one has failed too often to go on."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.counts: dict[str, int] = {}

    def note(self, probe: str, error: Exception) -> None:
        """Note one, or raise it again when it is the script's."""
        if not is_ours(error):
            raise error
        self.counts[probe] = self.counts.get(probe, 0) + 1
        self._sink.fault(probe, f"{type(error).__name__}: {error}")

    def off(self, probe: str) -> bool:
        """Whether the probe has switched itself off."""
        return self.counts.get(probe, 0) >= _LIMIT
