"""Tells the Python processes that this one starts that they are recorded, in their environment and not in our own.

Whatever starts a process ends in one function, below the frames that a traceback shows: subprocess, and what
multiprocessing spawns. `os.environ` stays as the program has it; the child takes the variable out of its own before its
program begins.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

VARIABLE = "GRADSCOPE_TRACE"
_PLACES = (("_posixsubprocess", "fork_exec"), ("subprocess", "_fork_exec"))  # the second since Python 3.11
_EXECUTABLES, _ENVIRONMENT = 1, 5  # among its arguments


class HandingOn:
    """From `put` to `restore`, what this process starts finds a text in its environment."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._undo: list[Callable[[], None]] = []

    def put(self) -> None:
        """Begin."""
        if importlib.util.find_spec("_posixsubprocess") is None:  # no such system
            return
        import _posixsubprocess

        original = _posixsubprocess.fork_exec
        stand_in = self._stand_in(original)
        for module, name in _PLACES:
            found = sys.modules.get(module)
            if found is not None and vars(found).get(name) is original:
                setattr(found, name, stand_in)
                self._undo.append(lambda found=found, name=name: setattr(found, name, original))  # type: ignore[misc]

    def restore(self) -> None:
        """Hand on nothing any more."""
        while self._undo:
            self._undo.pop()()

    def _stand_in(self, original: Callable[..., int]) -> Callable[..., int]:
        def fork_exec(*arguments: Any) -> int:
            if not _runs_this_python(arguments[_EXECUTABLES]):
                return original(*arguments)
            given: Sequence[bytes] | None = arguments[_ENVIRONMENT]
            if given is None:  # what C knows: it is there for no longer than it takes to copy it
                before = os.environ.get(VARIABLE)
                os.putenv(VARIABLE, self._text)
                try:
                    return original(*arguments)
                finally:
                    os.unsetenv(VARIABLE) if before is None else os.putenv(VARIABLE, before)
            start = f"{VARIABLE}=".encode()
            kept = [one for one in given if not one.startswith(start)]
            environment = [*kept, start + os.fsencode(self._text)]
            return original(*arguments[:_ENVIRONMENT], environment, *arguments[_ENVIRONMENT + 1 :])

        return fork_exec


def _runs_this_python(executables: Sequence[str | bytes]) -> bool:
    """Whether one of the files that are tried is the Python that runs here, by whichever name of its folder."""
    here = os.path.abspath(sys.executable or "")
    for one in executables:
        name = os.path.abspath(os.fsdecode(one))
        if name == here:
            return True
        if os.path.dirname(name) == os.path.dirname(here) and os.path.realpath(name) == os.path.realpath(here):
            return True
    return False
