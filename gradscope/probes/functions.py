"""Finds the user's class behind the node of a custom autograd.Function."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from gradscope.probes.sink import Sink


class Functions:
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
        cls = _written_by_the_user(cls)
        backward = getattr(cls, "vjp", None) if _inherits(cls, "backward") else getattr(cls, "backward", None)
        return self._sink.function(f"{cls.__module__}.{cls.__qualname__}", self._frame(cls), self._frame(backward))

    def _frame(self, thing: Any) -> int:
        try:
            file, line = inspect.getsourcefile(thing), inspect.getsourcelines(thing)[1]
        except (OSError, TypeError):  # made in exec or a notebook: no source
            code = getattr(thing, "__code__", None)
            return 0 if code is None else self._sink.frame(code.co_filename, code.co_firstlineno, code.co_name)
        return self._sink.frame(file or "", line, thing.__qualname__)


def _inherits(cls: type, method: str) -> bool:
    return getattr(cls, method) is getattr(torch.autograd.Function, method)


def _written_by_the_user(cls: Any) -> Any:
    """Under torch.func, torch generates a class per level; the user's own is in a closure of its methods."""
    if cls.__module__ != "torch._functorch.autograd_function":
        return cls
    for method in ("forward", "backward"):
        for cell in getattr(getattr(cls, method, None), "__closure__", None) or ():
            if isinstance(cell.cell_contents, type) and issubclass(cell.cell_contents, torch.autograd.Function):
                return _written_by_the_user(cell.cell_contents)
    return cls
