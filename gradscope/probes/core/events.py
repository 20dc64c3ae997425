"""What happens in a recording that several probes act on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gradscope.probes.core.probe import Watcher
from gradscope.probes.core.sink import Gone
from gradscope.probes.core.thread_state import Thread


@dataclass(frozen=True, slots=True)
class Events:
    """For each event those who act on it, in the order in which they are told: a probe puts itself there when built."""

    backward: list[Watcher] = field(default_factory=list)
    """A backward call begins, fails, ends; the table says in which order they are told."""
    step_begins: list[Callable[[bool], None]] = field(default_factory=list)
    """Whether it is recorded; told in the thread that ended the one before."""
    content_gone: list[Callable[[Gone], None]] = field(default_factory=list)
    """Content goes with the last step that pointed at it: its ids stand for nothing any more."""
    thread_begins: list[Callable[[], contextlib.AbstractContextManager[Any]]] = field(default_factory=list)
    """Entered in a thread of the program for as long as it runs."""
    block_closed: list[Callable[[Thread, int, list[int]], None]] = field(default_factory=list)
    """A thread's block of operators is stored: its id, and its numbers."""
    collective_seen: list[Callable[[Any], None]] = field(default_factory=list)
    """A collective is about to run, as an operator; the frame that calls it, none on the engine's own threads."""
    gradients_measured: list[Callable[[list[tuple[Any, int]]], None]] = field(default_factory=list)
    """The leaves that a backward gave gradients, of those that are looked at, and their names; none when the next one
    begins."""
    exception_uncaught: list[Callable[[BaseException, int], None]] = field(default_factory=list)
    """The program, or a thread of it, has ended with an exception; the id of its stack."""
    model_called: list[Callable[[Any, Any], None]] = field(default_factory=list)
    """A module is about to run that no other module calls, and the frame that calls it."""
    optimizer_steps: list[Callable[[Any, Any, list[bool], bool], None]] = field(default_factory=list)
    """An optimizer is about to step, the frame that has it step, which of its parameters hold a gradient, and whether
    more of these than ever before are frozen."""
    optimizer_stepped: list[Callable[[Any], None]] = field(default_factory=list)
    """An optimizer has stepped."""
    tensor_forgotten: list[Callable[[Any], None]] = field(default_factory=list)
    """A tensor is about to become another: nobody may refer to it weakly. Its name is known still."""
    storage_asked: list[Callable[[int], bool | None]] = field(default_factory=list)
    """Whether a forward computed a living storage, by its identity; None from who does not know it."""
