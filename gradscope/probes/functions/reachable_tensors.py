"""Finds the tensors that running code can read without having been given them, by name: globals, closures, attributes.

Only what the code names is followed, and none of the program's own code runs: no property, no `__getattr__`.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from types import CellType, CodeType, FrameType, FunctionType
from typing import Any

import torch

from gradscope.signals import let_through

_MOST = 2048  # values looked at, the nearest first
_HOLD_NOTHING = (str, bytes, int, float, complex, type(None))
_OF_A_MODULE = ("_parameters", "_buffers", "_modules")

Named = tuple[str, Any]


def reached(
    frames: list[FrameType], forward: Callable[..., Any], arguments: tuple[Any, ...]
) -> Iterator[tuple[str, torch.Tensor]]:
    """Tensors and their names as the code would write them. `frames` run `forward`, which got `arguments`."""
    names = {name: None for frame in frames for name in _names(frame.f_code)}  # in order, so that runs agree
    function = inspect.unwrap(forward)
    roots = [*_closed_over(function), *zip(function.__code__.co_varnames, arguments, strict=False)]
    for frame in frames:
        roots += _named(frame.f_globals, frame.f_code.co_names)
    deque(_walk(roots, names), maxlen=0)  # learns the names in functions that the code calls
    for name, value in _walk(roots, names):
        if isinstance(value, torch.Tensor):
            yield name, value


def _walk(roots: list[Named], names: dict[str, None]) -> Iterator[Named]:
    """What can be reached, each value once and by its shortest name. Adds to `names` what reached functions name."""
    waiting = deque(roots)
    seen: set[int] = set()
    while waiting and len(seen) < _MOST:
        name, value = waiting.popleft()
        if id(value) in seen or isinstance(value, _HOLD_NOTHING):
            continue
        seen.add(id(value))
        if isinstance(value, FunctionType):
            names.update(dict.fromkeys(_names(value.__code__) if _is_users(value) else ()))
        yield name, value
        waiting.extend(islice(_held(name, value, names), _MOST))


def _held(name: str, value: Any, names: dict[str, None]) -> Iterator[Named]:
    """What a value holds: a container its items, a function what it reads, all else the attributes in `names`."""
    if isinstance(value, torch.Tensor):
        return
    if isinstance(value, dict):
        yield from ((f"{name}[{key!r}]" if type(key) in (str, int) else name, one) for key, one in value.items())
    elif isinstance(value, (list, tuple)):
        yield from ((f"{name}[{at}]", one) for at, one in enumerate(value))
    elif isinstance(value, FunctionType):
        if _is_users(value):
            yield from _closed_over(value)
            yield from _named(value.__globals__, value.__code__.co_names)
    else:
        own = _namespace(value)
        for kept in _OF_A_MODULE if isinstance(value, torch.nn.Module) else ():
            yield from ((f"{name}.{key}", one) for key, one in own.get(kept, {}).items())
        for namespace in (own, *map(_namespace, (value if isinstance(value, type) else type(value)).__mro__)):
            yield from ((f"{name}.{key}", one) for key, one in _named(namespace, names))


def _names(code: CodeType) -> tuple[str, ...]:
    return (*code.co_names, *code.co_freevars)


def _is_users(function: FunctionType) -> bool:
    return (function.__module__ or "").partition(".")[0] != "torch"


def _closed_over(function: Any) -> Iterator[Named]:
    for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        yield variable, _contents(cell)


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError as error:  # not assigned yet
        let_through(error)
        return None


def _named(namespace: Mapping[str, Any], names: Iterable[str]) -> Iterator[Named]:
    return ((name, namespace[name]) for name in list(names) if name in namespace)


def _namespace(value: Any) -> Mapping[str, Any]:
    """An object's `__dict__`, whatever its class makes of attributes; empty where it has none."""
    try:
        found: Mapping[str, Any] = object.__getattribute__(value, "__dict__")
    except AttributeError as error:
        let_through(error)
        return {}
    return found
