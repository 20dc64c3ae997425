"""Interned stacks, cheap enough to take at every node and operator.

The surprise: a stack is walked only up to the nearest anchor, a frame whose caller's stack is already known (the
running module call, the running backward), because the frames below it cannot move while it runs.
"""

from __future__ import annotations

import traceback
from types import CodeType, FrameType

from gradscope.probes.sink import Sink


class Stacks:
    """Gives each distinct stack an id. `anchors` are the ids of code objects at which a walk stops."""

    def __init__(self, sink: Sink) -> None:
        self.anchors: set[int] = set()
        self._sink = sink
        self._stacks: dict[tuple[int, ...], int] = {}
        self._codes: dict[int, CodeType] = {}  # keeps them alive: their ids are keys
        self._frames: dict[tuple[int, int], int] = {}
        self._described: dict[int, tuple[int, CodeType, int]] = {}  # stack -> caller, code, instruction

    def take(self, frame: FrameType | None, base: int) -> int:
        """The id of the stack that begins at `frame`; `base` is the stack behind the nearest anchor."""
        anchors = self.anchors
        key: list[int] = []
        start = frame
        while frame is not None:
            code = id(frame.f_code)
            if code in anchors:
                caller = base
                break
            key.append(code)
            key.append(frame.f_lasti)
            frame = frame.f_back
        else:
            caller = base if start is None else 0  # the engine's own threads have no frames
        key.append(caller)
        known = self._stacks.get(tuple(key))
        return self._intern(start, tuple(key)) if known is None else known

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

    def _intern(self, frame: FrameType | None, key: tuple[int, ...]) -> int:
        """Intern a stack that is new: outermost frame first, because a stack points at its caller."""
        frames = []
        while frame is not None and id(frame.f_code) not in self.anchors:
            frames.append((frame.f_code, frame.f_lasti))
            frame = frame.f_back
        stack = key[-1]
        for code, instruction in reversed(frames):
            stack = self.push(stack, code, instruction)
        self._stacks[key] = stack
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
