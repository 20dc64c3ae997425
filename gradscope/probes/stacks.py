"""Interned stacks, cheap enough to take at every node and operator.

The surprise: what has called a running frame cannot move while it runs, so a frame is walked from once and marked. The
mark is left as the frame's `f_trace`, the one place in a frame that can be written: Python calls it only while a
debugger traces, and clears it with the frame.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from types import CodeType, FrameType
from typing import Any

from gradscope.probes.sink import Sink

_RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Mark(dict[int, int]):
    """The stack of each instruction of a function that was called from `caller`, as far as it was asked for.

    To debuggers, which read and replace f_trace, it is false; called by Python, it does nothing.
    """

    __slots__ = ("caller", "code", "owner")

    def __init__(self, owner: object, caller: int, code: CodeType) -> None:
        super().__init__()
        self.owner = owner  # a frame may outlive the recording in which it was marked
        self.caller = caller
        self.code = code

    def __bool__(self) -> bool:
        return False

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Stand where Python expects a function that traces lines."""


class Stacks:
    """Gives each distinct stack an id. `anchors` are the ids of code objects at which a walk stops.

    An anchor's frame is not marked: its stack is known to the thread (the running module call, the running backward).
    """

    def __init__(self, sink: Sink) -> None:
        self.anchors: set[int] = set()
        self._sink = sink
        self._owner = object()
        self._marks: dict[tuple[int, int], Mark] = {}  # by caller and code
        self._codes: dict[int, CodeType] = {}  # keeps them alive: their ids are keys
        self._frames: dict[tuple[int, int], int] = {}
        self._described: dict[int, tuple[int, CodeType, int]] = {}  # stack -> caller, code, instruction

    def take(self, frame: FrameType | None, base: int) -> int:
        """The id of the stack that begins at `frame`; `base` is the stack behind the nearest anchor."""
        if frame is None:
            return base  # the engine's own threads have no frames
        mark: Any = frame.f_trace
        if type(mark) is not Mark or mark.owner is not self._owner:
            mark = self._mark(frame, base)
            if mark is None:
                return base
        return mark.get(frame.f_lasti) or self._at(mark, frame.f_lasti)

    def _mark(self, frame: FrameType, base: int) -> Mark | None:
        """Walk to the nearest frame whose stack is known, and mark those on the way; None for an anchor."""
        unknown: list[FrameType] = []
        above: FrameType | None = frame
        caller = 0
        while above is not None:
            if id(above.f_code) in self.anchors:
                caller = base
                break
            known: Any = above.f_trace
            if type(known) is Mark and known.owner is self._owner:
                caller = known.get(above.f_lasti) or self._at(known, above.f_lasti)
                break
            unknown.append(above)
            above = above.f_back
        mark = None
        for one in reversed(unknown):
            mark = self._marks.get((caller, id(one.f_code)))
            if mark is None:
                mark = self._new(caller, one.f_code)
            if _may_be_marked(one):
                one.f_trace = mark
            caller = mark.get(one.f_lasti) or self._at(mark, one.f_lasti)
        return mark

    def _new(self, caller: int, code: CodeType) -> Mark:
        return self._marks.setdefault((caller, id(code)), Mark(self._owner, caller, code))

    def _at(self, mark: Mark, instruction: int) -> int:
        stack = mark[instruction] = self.push(mark.caller, mark.code, instruction)
        return stack

    def push(self, caller: int, code: CodeType, instruction: int) -> int:
        """The stack one frame deeper than `caller`."""
        place = (id(code), instruction)
        row = self._frames.get(place)
        if row is None:
            self._codes[id(code)] = code
            row = self._frames[place] = self._sink.frame(code.co_filename, line_of(code, instruction), code.co_name)
        stack = self._sink.stack(caller, row)
        self._described.setdefault(stack, (caller, code, instruction))
        return stack

    def lines(self, stack: int) -> list[str]:
        """The stack as torch's anomaly mode prints it, outermost frame first."""
        summaries = []
        while stack in self._described:
            stack, code, instruction = self._described[stack]
            summaries.append(_summary(code, instruction))
        return traceback.format_list(summaries[::-1])


def _may_be_marked(frame: FrameType) -> bool:
    """Whether its callers stay the same while it runs, and no debugger has a say."""
    return (
        (frame.f_trace is None or type(frame.f_trace) is Mark)  # one of an earlier recording
        and not frame.f_code.co_flags & _RESUMED
        and sys.gettrace() is None
    )


def line_of(code: CodeType, instruction: int) -> int:
    """The line of an instruction (an f_lasti); the function's first line when it has none."""
    for start, end, line in code.co_lines():
        if start <= instruction < end and line is not None:
            return line
    return code.co_firstlineno


def _summary(code: CodeType, instruction: int) -> traceback.FrameSummary:
    """One line without columns: torch's own are read off the running stack, which has none."""
    return traceback.FrameSummary(code.co_filename, line_of(code, instruction), code.co_name)
