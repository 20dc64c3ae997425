"""What the probes need of the recording they write into. Ids are small positive integers; 0 stands for "none"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Protocol

Row = tuple[object, ...]
Gone = Mapping[str, Set[int]]  # ids of content that is not stored any more, by table


class Sink(Protocol):
    """A recording being written: interns what repeats, takes rows for the rest. The store's Writer is one."""

    def string(self, text: str) -> int:
        """Intern a text."""

    def frame(self, file: str, line: int, function: str) -> int:
        """Intern a line of code."""

    def stack(self, caller: int, frame: int) -> int:
        """Intern a stack: its innermost frame over its caller's stack."""

    def call(self, caller: int, path: str, module_class: str, position: int, ordinal: int, ordinals: int) -> int:
        """Intern a module call."""

    def tensor_type(self, shape: Sequence[int], dtype: str, device: str) -> int:
        """Intern a tensor's shape, dtype and device."""

    def function(self, name: str, class_frame: int, backward_frame: int) -> int:
        """Intern a custom autograd.Function."""

    def add(self, table: str, row: Row) -> None:
        """Append one row."""

    def add_all(self, table: str, rows: Iterable[Row]) -> None:
        """Append rows."""

    def known(self, table: str, key: bytes) -> int:
        """The id under which content with this key is stored, 0 for none."""

    def number(self, table: str) -> int:
        """A new id for content of a table."""

    def remember(self, table: str, key: bytes, number: int) -> None:
        """Content with this key is stored under this id from now on."""

    def fault(self, probe: str, message: str) -> None:
        """Note a fault of gradscope's own."""

    def drop(self, reason: str, count: int = 1) -> None:
        """Count what is not recorded."""

    def forget(self, step: int) -> None:
        """Give up what was recorded of the steps before one."""

    def tidy(self, tell: Callable[[Gone], None]) -> None:
        """Between two steps: have the oldest go where the next might not fit, and what only those needed that went."""

    @property
    def failure(self) -> str | None:
        """Why nothing more can be recorded, None while it can."""

    def full(self) -> bool:
        """Whether what comes next might not fit any more."""

    def commit(self) -> None:
        """Write what has been added so far, safe against a kill."""

    def commit_soon(self) -> None:
        """The same, within a second."""


def store(sink: Sink, table: str, key: bytes, write: Callable[[int], None]) -> int:
    """The id of content that is stored once. `write` adds its rows when it is new: all of them, or it does not count.

    A signal handler of the script may raise anywhere in here; what was written so far is then never pointed at.
    """
    known = sink.known(table, key)
    if known:
        return known
    number = sink.number(table)
    write(number)
    sink.remember(table, key, number)
    return number
