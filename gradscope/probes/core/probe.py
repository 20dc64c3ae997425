"""What a probe that acts around backward calls looks like to those who call it."""

from __future__ import annotations

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.thread_state import Thread


class Watcher:
    """What other probes do around a backward: `before` while the nodes are at hand, `after` when it has run."""

    probe = ""  # its name among the faults

    def before(self, call: BackwardCall, thread: Thread) -> None:
        """The call is about to run; `call.live` and `call.outputs` hold its nodes and roots, until this returns."""

    def after(self, call: BackwardCall, thread: Thread) -> None:
        """The call has returned or raised."""

    def failed(self, call: BackwardCall, error: BaseException) -> None:
        """The call has raised; `call.live` holds its nodes again, numbered as before, until this returns."""

    def forget(self, call: BackwardCall) -> None:
        """The call is over, whatever became of it: again does nothing."""


class Guest(Watcher):
    """A watcher from outside, which is there for the length of the recording."""

    def __enter__(self) -> object:
        """The recording begins."""
        return self

    def __exit__(self, *error: object) -> None:
        """The recording ends."""
