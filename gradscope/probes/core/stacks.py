"""Interned stacks, cheap enough to take at every node and operator.

The surprise: what has called a running frame cannot move while it runs, so a frame is walked from once and marked. The
mark is left as the frame's `f_trace`, the one place in a frame that can be written: Python calls it only while a
debugger traces, and clears it with the frame.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from gradscope.probes.core.sink import Sink

_RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE | inspect.CO_ASYNC_GENERATOR


class FrameMark(dict[int, int]):
    """The stack of each instruction of a function that was called from `caller`, as far as it was asked for.

    To debuggers, which read and replace f_trace, it is false; called by Python, it does nothing.
    """

    __slots__ = ("caller", "code", "owner", "stays", "watched")

    def __init__(self, owner: object, caller: int, code: CodeType, watched: bool) -> None:
        super().__init__()
        self.watched = watched  # somebody wants to know of each frame that runs it
        self.owner = owner  # a frame may outlive the recording in which it was marked
        self.caller = caller
        self.code = code
        self.stays = not code.co_flags & _RESUMED  # else another may call what goes on

    def __bool__(self) -> bool:
        return False

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Stand where Python expects a function that traces lines."""


_MAY_BE_REPLACED = (type(None), FrameMark)  # nobody's, and one of an earlier recording


class Stacks:
    """Gives each distinct stack an id. `anchors` are the ids of code objects at which a walk stops.

    An anchor's frame is not marked: its stack is known to the thread (the running module call, the running backward).
    """

    def __init__(self, sink: Sink) -> None:
        self.anchors: set[int] = set()
        self._sink = sink
        self._owner = object()
        self._marks: dict[tuple[int, int], FrameMark] = {}  # by caller and code
        self._codes: dict[int, CodeType] = {}  # keeps them alive: their ids are keys
        self._frames: dict[tuple[int, int], int] = {}
        self._described: dict[int, tuple[int, CodeType, int]] = {}  # stack -> caller, code, instruction
        self._is_watched: Callable[[CodeType], bool] = lambda code: False
        self._met: Callable[[FrameType], None] = lambda frame: None

    def watch(self, is_watched: Callable[[CodeType], bool], met: Callable[[FrameType], None]) -> None:
        """Have `met` told of each frame from which a stack is taken first, if its code is watched."""
        self._is_watched, self._met = is_watched, met

    def take(self, frame: FrameType | None, base: int) -> int:
        """The id of the stack that begins at `frame`; `base` is the stack behind the nearest anchor."""
        if frame is None:
            return base  # the engine's own threads have no frames
        mark: Any = frame.f_trace
        if type(mark) is FrameMark and mark.owner is self._owner:
            return mark.get(frame.f_lasti) or self._at(mark, frame.f_lasti)
        if id(frame.f_code) in self.anchors:
            return base
        caller = self._known(frame.f_back, base)
        return self._walk(frame, base) if caller is None else self._leave(frame, caller)

    def _known(self, frame: FrameType | None, base: int) -> int | None:
        """The stack of a frame that is an anchor or marked, or of none at all."""
        if frame is None:
            return 0
        mark: Any = frame.f_trace
        if type(mark) is FrameMark and mark.owner is self._owner:
            return mark.get(frame.f_lasti) or self._at(mark, frame.f_lasti)
        return base if id(frame.f_code) in self.anchors else None

    def _walk(self, frame: FrameType, base: int) -> int:
        """The stack of a frame that is not known: mark it, and those behind it up to one that is."""
        unknown = []
        above: FrameType | None = frame
        while (stack := self._known(above, base)) is None:
            assert above is not None
            unknown.append(above)
            above = above.f_back
        for one in reversed(unknown):
            stack = self._leave(one, stack)
        return stack

    def _leave(self, frame: FrameType, caller: int) -> int:
        """Leave a mark on a frame whose caller's stack is known by now, and answer with its own."""
        key = caller, id(frame.f_code)
        mark = self._marks.get(key)
        if mark is None:
            watched = self._is_watched(frame.f_code)
            mark = self._marks.setdefault(key, FrameMark(self._owner, caller, frame.f_code, watched))
        if mark.watched:
            self._met(frame)
        if mark.stays and sys.gettrace() is None and type(frame.f_trace) in _MAY_BE_REPLACED:
            frame.f_trace = mark
        return mark.get(frame.f_lasti) or self._at(mark, frame.f_lasti)

    def _at(self, mark: FrameMark, instruction: int) -> int:
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


def line_of(code: CodeType, instruction: int) -> int:
    """The line of an instruction (an f_lasti); the function's first line when it has none."""
    for start, end, line in code.co_lines():
        if start <= instruction < end and line is not None:
            return line
    return code.co_firstlineno


def _summary(code: CodeType, instruction: int) -> traceback.FrameSummary:
    """One line without columns: torch's own are read off the running stack, which has none."""
    return traceback.FrameSummary(code.co_filename, line_of(code, instruction), code.co_name)
