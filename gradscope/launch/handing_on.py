"""Tells the Python processes that this one starts that they are recorded, in their environment and not in our own.

Whatever starts a process ends in one function, below the frames that a traceback shows: subprocess, and what
multiprocessing spawns. What takes this process's place (os.exec), and os.posix_spawn, are stood in for only where all
Pythons are asked for: where they fail, the traceback has one frame more. `os.environ` stays as the program has it; the
child takes the variable out of its own before its program begins.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from types import ModuleType
from typing import Any

from gradscope.model.family import OF_PARENTS, Family

VARIABLE = "GRADSCOPE_TRACE"
_PLACES = (("_posixsubprocess", "fork_exec"), ("subprocess", "_fork_exec"))  # the second since Python 3.11
_EXECUTABLES, _ENVIRONMENT = 1, 5  # among its arguments
_DIRECT = ("execv", "execve", "posix_spawn", "posix_spawnp")  # os.execvp, os.spawnv and their like end in the first two


class HandingOn:
    """From `put` to `restore`, what this process starts finds a text in its environment; `direct`: os.exec as well."""

    def __init__(self, text: str, direct: bool = False) -> None:
        self._text, self._direct = text, direct
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
                self._replace(found, name, stand_in)
        for name in _DIRECT if self._direct else ():
            if name in vars(os):
                self._replace(os, name, self._with_environment(getattr(os, name)))

    def restore(self) -> None:
        """Hand on nothing any more."""
        while self._undo:
            self._undo.pop()()

    def _replace(self, module: ModuleType, name: str, stand_in: Callable[..., Any]) -> None:
        original = getattr(module, name)
        setattr(module, name, stand_in)
        self._undo.append(lambda: setattr(module, name, original))

    def _stand_in(self, original: Callable[..., int]) -> Callable[..., int]:
        def fork_exec(*arguments: Any) -> int:
            if not _runs_this_python(arguments[_EXECUTABLES]):
                return original(*arguments)
            given: Sequence[bytes] | None = arguments[_ENVIRONMENT]
            if given is None:
                with self._known_to_c():
                    return original(*arguments)
            start = f"{VARIABLE}=".encode()
            kept = [one for one in given if not one.startswith(start)]
            environment = [*kept, start + os.fsencode(self._text)]
            return original(*arguments[:_ENVIRONMENT], environment, *arguments[_ENVIRONMENT + 1 :])

        return fork_exec

    def _with_environment(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def start(path: Any, argv: Any, *env: Any, **named: Any) -> Any:
            if not isinstance(path, str | bytes | os.PathLike) or not _runs_this_python(_tried(path)):
                return original(path, argv, *env, **named)
            given: Mapping[Any, Any] | None = env[0] if env else named.get("env")
            if given is None:  # os.execv, and os.posix_spawn since Python 3.13
                with self._known_to_c():
                    return original(path, argv, *env, **named)
            environment = {name: given[name] for name in given if os.fsdecode(name) != VARIABLE} | {
                VARIABLE: self._text
            }
            named.pop("env", None)
            return original(path, argv, environment, *env[1:], **named)

        return start

    @contextmanager
    def _known_to_c(self) -> Iterator[None]:
        """What C knows of the environment: the text is there for no longer than it takes to copy it."""
        before = os.environ.get(VARIABLE)
        os.putenv(VARIABLE, self._text)
        try:
            yield
        finally:
            os.unsetenv(VARIABLE) if before is None else os.putenv(VARIABLE, before)


class Children:
    """What becomes of the processes that this one starts."""

    forked: Callable[[], object] | None = None  # what a forked child begins with

    def __init__(self, family: Family, forked: Callable[[], object]) -> None:
        self._forked = forked
        self._handing_on = HandingOn(family.of(os.environ).text, direct=family.which == OF_PARENTS[1])

    def put(self) -> None:
        """From now on they are recorded."""
        if VARIABLE not in os.environ:  # else that has said what becomes of those that are no forks
            self._handing_on.put()
        Children.forked = self._forked

    def restore(self) -> None:
        """They are not any more."""
        self._handing_on.restore()
        Children.forked = None


def _tried(path: str | bytes | os.PathLike[Any]) -> list[str]:
    """The files that may be meant: os.posix_spawnp looks for a bare name in the folders of PATH."""
    name = os.fsdecode(path)
    return [name] if os.path.dirname(name) else [os.path.join(folder, name) for folder in os.get_exec_path()]


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
