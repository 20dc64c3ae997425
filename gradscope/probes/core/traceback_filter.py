"""Takes the frames that exist only because of gradscope out of exceptions that nobody catches."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from types import CodeType, TracebackType
from typing import Any

from gradscope.signals import attribute
from gradscope.torch_internals.find import Replacement

_OURS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
STAND_IN = "gradscope_runs_an_operator"  # the name of functions of ours that have the file of the program's
_OPERATOR = os.path.join("torch", "_ops.py")  # we call some operators anew: its frame follows ours


class TracebackFilter:
    """Notes and cleans what threads let through; `program.run` does so for the main thread."""

    def __init__(self, note: Callable[[BaseException], None]) -> None:
        self._note = note

    def __enter__(self) -> TracebackFilter:
        self._place = Replacement("threading._make_invoke_excepthook")
        self._place.put(self._make)
        return self

    def __exit__(self, *error: object) -> None:
        self._place.restore()

    def _make(self) -> Any:
        """What a new thread will call with its uncaught exception."""
        invoke = self._place.original()

        def invoke_excepthook(thread: threading.Thread) -> None:
            error = sys.exc_info()[1]
            if error is not None:
                self._note(error)
                clean(error)
            invoke(thread)

        return invoke_excepthook


def clean(error: BaseException) -> None:
    """Unlink our frames from an exception and from all that led to it."""
    for one in family(error):
        one.__traceback__ = _without_ours(one.__traceback__)


def family(error: BaseException) -> Iterator[BaseException]:
    """The exception and all that led to it."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting += [one.__cause__, one.__context__, *attribute(one, "exceptions", ())]


def links(error: BaseException) -> Iterator[TracebackType]:
    """An exception's traceback, outermost frame first."""
    link = error.__traceback__
    while link is not None:
        yield link
        link = link.tb_next


def is_ours(code: CodeType) -> bool:
    """Whether a frame is one of gradscope's."""
    return code.co_filename.startswith(_OURS) or code.co_name == STAND_IN


def _without_ours(traceback: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    after_ours = False
    while traceback is not None:
        code = traceback.tb_frame.f_code
        ours = is_ours(code)
        if not ours and not (after_ours and code.co_filename.endswith(_OPERATOR)):
            kept.append(traceback)
        after_ours = ours
        traceback = traceback.tb_next
    for entry, following in zip(kept, [*kept[1:], None], strict=False):
        entry.tb_next = following
    return kept[0] if kept else None
