"""Names the places where an object is held: a variable, an attribute, a list in one of them.

The surprise: reading a running function's locals makes Python keep a copy of them in the frame until the function
returns. The copy is emptied here, so that nothing lives longer than without us.
"""

from __future__ import annotations

import gc
import inspect
import sys
import types
from collections.abc import Iterator
from typing import Any

_OURS = ("gradscope/probes", "gradscope/launch")  # what runs the program, and what runs in it
_CALLS = ("/torch/autograd/", "/torch/_tensor.py")  # the running backward holds its own outputs
_DEPTH = 3  # a list in a dict in an attribute

Place = tuple[str, str, str]  # what holds it, the name, the function, class or module that the name belongs to


class Referrers:
    """Looks for named places. `ignored` are containers of the searcher's own."""

    def __init__(self, ignored: tuple[Any, ...]) -> None:
        self._ignored = {id(one) for one in ignored}
        self._locals = list(_locals())

    def of(self, thing: Any, depth: int = _DEPTH) -> Iterator[Place]:
        """Where an object is held, by its direct holders' names."""
        for function, name, value in self._locals:
            if value == id(thing):
                yield "variable", name, function
        for holder in gc.get_referrers(thing):
            if id(holder) not in self._ignored and not isinstance(holder, types.FrameType):
                yield from self._in(holder, thing, depth)

    def in_cell(self, cell: Any) -> Iterator[Place]:
        """The names that functions have for a variable which they share."""
        return _closures(cell)

    def _in(self, holder: Any, thing: Any, depth: int) -> Iterator[Place]:
        if isinstance(holder, dict):
            owner = _owner(holder)
            if owner is not None and _is_of_ours(owner):
                return  # a backward call that another thread is in
            if owner is not None:
                kind = "variable" if isinstance(owner, types.ModuleType) else "attribute"
                belongs = owner.__name__ if isinstance(owner, types.ModuleType) else type(owner).__name__
                yield from ((kind, str(key), belongs) for key, value in dict.copy(holder).items() if value is thing)
                return
        elif isinstance(holder, types.CellType):
            yield from _closures(holder)
            return
        elif not isinstance(holder, (list, tuple, set)) and type(holder).__name__ != "deque":
            names = {} if _is_of_ours(holder) else getattr(holder, "__dict__", {})
            yield from (("attribute", key, type(holder).__name__) for key, one in dict(names).items() if one is thing)
            return
        if depth:
            self._ignored.add(id(holder))
            yield from ((type(holder).__name__, name, owner) for _, name, owner in self.of(holder, depth - 1))


def _closures(cell: types.CellType) -> Iterator[Place]:
    """The functions that share a variable, by its name in them."""
    for closure in gc.get_referrers(cell):
        if isinstance(closure, tuple):
            for function in gc.get_referrers(closure):
                ours = getattr(function, "__module__", "") == __name__
                if isinstance(function, types.FunctionType) and function.__closure__ is closure and not ours:
                    at = next(at for at, one in enumerate(closure) if one is cell)
                    yield "variable", function.__code__.co_freevars[at], function.__qualname__


def is_torchs(thing: Any) -> bool:
    """Whether a variable of a function inside torch holds an object, or is it: these may wait to be collected."""
    around = [thing] if isinstance(thing, types.CellType) else gc.get_referrers(thing)
    cells = [one for one in around if isinstance(one, types.CellType)]
    tuples = [one for cell in cells for one in gc.get_referrers(cell) if isinstance(one, tuple)]
    functions = [one for each in tuples for one in gc.get_referrers(each) if isinstance(one, types.FunctionType)]
    return any((one.__module__ or "").startswith("torch.") for one in functions)


def _owner(names: dict[Any, Any]) -> Any:
    """The module or object whose variables a dict holds."""
    for owner in gc.get_referrers(names):
        if not isinstance(owner, (dict, list, tuple, types.FrameType)) and getattr(owner, "__dict__", None) is names:
            return owner
    return None


def _is_of_ours(thing: Any) -> bool:
    return type(thing).__module__.startswith("gradscope.probes")


def _is_passed_over(code: types.CodeType) -> bool:
    file = code.co_filename.replace("\\", "/")
    return any(room in file for room in (*_OURS, *_CALLS))


def _locals() -> Iterator[tuple[str, str, int]]:
    """Function, name and identity of every local variable of the functions that run in this thread."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_flags & inspect.CO_OPTIMIZED and not _is_passed_over(code):
            values = frame.f_locals
            found = [(code.co_name, name, id(value)) for name, value in values.items()]
            if isinstance(values, dict):  # from Python 3.13 on it is a view, which keeps nothing
                values.clear()
            yield from found
        frame = frame.f_back
