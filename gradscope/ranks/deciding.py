"""The expression that a condition goes back to by names, arguments and returns: which asks for the rank, or draws."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain

from gradscope.functions.source import called_name
from gradscope.model.site import Site, Stack
from gradscope.ranks.given import Frame, bound_in, frames_of, passed_to
from gradscope.ranks.syntax import JUMPS, Function, at_line, statements
from gradscope.store.reader import Recording

_RANK = re.compile(r"(?:^|_)(?:rank|main|master|primary|chief|leader)(?:_|\d|$)", re.IGNORECASE)
_DRAWS = frozenset(
    (
        *("rand", "randn", "randint", "randperm", "bernoulli", "multinomial", "normal", "random", "uniform", "choice"),
        *("choices", "sample", "gauss", "randrange", "integers", "uniform_", "bernoulli_", "random_", "normal_"),
    )
)
_MOST = 64  # expressions that are looked at


def rank_that_decides(recording: Recording, stack: Stack) -> Site | None:
    """The line that tells ranks apart, of the conditions by which a program comes to a line, the nearest first."""
    frames = frames_of(recording, stack)
    for at, frame in enumerate(frames):
        for test in _conditions(frame):
            found = _origin(recording, frames[at:], test, _asks_for_rank)
            if found is not None:
                return found
    return None


def drawn_for(recording: Recording, stack: Stack, site: Site, test: ast.expr) -> Site | None:
    """The line that draws at random what a condition asks for, in the function of a site, which stands in a stack."""
    frames = frames_of(recording, stack)
    at = next((at for at, one in enumerate(frames) if one.site == site), None)
    return None if at is None else _origin(recording, frames[at:], test, _draws)


def _conditions(frame: Frame) -> Iterator[ast.expr]:
    """Those around a line, and those above it under which its function is left, in the function of a frame."""
    line = frame.site.line
    if isinstance(frame.function, ast.Module | ast.Lambda):
        return
    above = [node for node in ast.walk(frame.function) if isinstance(node, ast.If) and node.lineno < line]
    for node in sorted(above, key=lambda one: -one.lineno):
        around = line <= (node.end_lineno or 0)
        if around or isinstance(node.body[-1], JUMPS):
            yield node.test


def _asks_for_rank(value: ast.expr) -> bool:
    return any(_RANK.search(name) for name in _names(value))


def _draws(value: ast.expr) -> bool:
    return any(isinstance(node, ast.Call) and called_name(node) in _DRAWS for node in ast.walk(value))


def _origin(
    recording: Recording, frames: list[Frame], value: ast.expr, wanted: Callable[[ast.expr], bool]
) -> Site | None:
    """The line of the first wanted expression from which a value comes."""
    waiting = [(frames, value)]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST:
        around, now = waiting.pop(0)
        if id(now) in seen:
            continue
        seen.add(id(now))
        if wanted(now):
            return at_line(recording, around[0].site, now.lineno)
        returned = {node: _returned(recording, around, node) for node in ast.walk(now) if isinstance(node, ast.Call)}
        known = {name for call, values in returned.items() if values for name in ast.walk(call.func)}
        waiting += chain.from_iterable(returned.values())
        names = [node.id for node in ast.walk(now) if isinstance(node, ast.Name) and node not in known]
        waiting += [one for name in names for one in _bound(around, name, now.lineno)]
    return None


def _bound(frames: list[Frame], name: str, line: int) -> Iterator[tuple[list[Frame], ast.expr]]:
    """What a name was bound to, and the conditions around that; else what the caller gives for it."""
    bound = bound_in(frames[0], name, line)
    if bound is None:
        passed = passed_to(frames, 0, name)
        if passed is not None:
            yield frames[1:], passed
        return
    yield frames, bound[1]
    for node in ast.walk(frames[0].function):
        if isinstance(node, ast.If) and node.lineno < bound[0] <= (node.end_lineno or 0) < line:
            yield frames, node.test


def _returned(recording: Recording, frames: list[Frame], call: ast.Call) -> list[tuple[list[Frame], ast.expr]]:
    """What a function of the program's returns that is called, where only one has its name."""
    found = [
        (Site(file, node.lineno, node.name), node)
        for file in sorted(recording.sources())
        for node in statements(recording, Site(file, 1, ""))
        if isinstance(node, Function) and node.name == called_name(call)
    ]
    if len(found) != 1:
        return []
    (site, function), caller = found[0], replace(frames[0], site=replace(frames[0].site, line=call.lineno))
    values = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None]
    return [
        ([Frame(replace(site, line=value.lineno), ast.Module([], []), function), caller, *frames[1:]], value)
        for value in values
    ]


def _names(value: ast.expr) -> Iterator[str]:
    for node in ast.walk(value):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
