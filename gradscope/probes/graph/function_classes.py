"""Finds the user's class behind the node of a custom autograd.Function."""

from __future__ import annotations

import inspect
import itertools
import re
from typing import Any

import torch

from gradscope.probes.core.sink import Sink
from gradscope.signals import attribute, let_through


class FunctionClasses:
    """Interns custom Functions, by the node's type."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._known: dict[type, int] = {}

    def take(self, kind: type) -> int:
        """The id of the custom Function behind a type of node, 0 for torch's own nodes."""
        known = self._known.get(kind)
        if known is None:
            known = self._known[kind] = self._intern(kind)
        return known

    def _intern(self, kind: type) -> int:
        cls = getattr(kind, "_forward_cls", None)
        return 0 if cls is None else self.of_class(cls)

    def of_class(self, cls: Any) -> int:
        """The id of a custom Function's class."""
        cls = written_by_the_user(cls)
        backward = attribute(cls, "vjp" if _inherits(cls, "backward") else "backward")
        return self._sink.function(
            f"{cls.__module__}.{cls.__qualname__}", self._class_frame(cls), self._frame(backward)
        )

    def _frame(self, function: Any) -> int:
        code = None if function is None else getattr(inspect.unwrap(function), "__code__", None)
        return 0 if code is None else self._sink.frame(code.co_filename, code.co_firstlineno, function.__qualname__)

    def _class_frame(self, cls: type) -> int:
        """The line of the class statement, above its methods; 0 where it has no source to read."""
        codes = [getattr(getattr(value, "__func__", value), "__code__", None) for value in vars(cls).values()]
        own = [code for code in codes if code is not None]
        if not own:
            return 0
        first = min(own, key=lambda code: code.co_firstlineno)
        line = _line_of_class(cls.__name__, first.co_filename, first.co_firstlineno)
        return line and self._sink.frame(first.co_filename, line, cls.__qualname__)


def _line_of_class(name: str, file: str, before: int) -> int:
    """Found by hand: `inspect` catches errors on its way, and with them what a signal handler of the script raises."""
    try:
        with open(file, encoding="utf-8", errors="replace") as stream:
            lines = list(itertools.islice(stream, before))
    except OSError as error:  # made in exec or a notebook
        let_through(error)
        return 0
    statement = re.compile(rf"\s*class\s+{re.escape(name)}\b")
    found = [number for number, line in enumerate(lines, 1) if statement.match(line)]
    return found[-1] if found else 0


def _inherits(cls: type, method: str) -> bool:
    return getattr(cls, method) is getattr(torch.autograd.Function, method)


def written_by_the_user(cls: Any) -> Any:
    """Under torch.func, torch generates a class per level; the user's own is in a closure of its methods."""
    if cls.__module__ != "torch._functorch.autograd_function":
        return cls
    for method in ("forward", "backward"):
        for cell in getattr(attribute(cls, method), "__closure__", None) or ():
            if isinstance(cell.cell_contents, type) and issubclass(cell.cell_contents, torch.autograd.Function):
                return written_by_the_user(cell.cell_contents)
    return cls
