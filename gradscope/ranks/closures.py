"""Steps in which ranks had their closures called unequally often: an optimizer decides by what its own returns."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from gradscope.model.graph import Backward
from gradscope.model.site import Origin, Site, Stack
from gradscope.model.training import STEP
from gradscope.ranks.known import Told
from gradscope.ranks.syntax import Function, at_line, function_around, tree_of
from gradscope.store.reader import Recording

_OPTIMIZERS = "torch/optim/"
WHY = "a step called the closures of the ranks unequally often"


@dataclass(slots=True)
class _Step:
    """A step, with the backward calls in its closure; `over`: the rank has come to something after it."""

    calls: list[Backward]
    over: bool = False


def called_unevenly(here: Recording, there: Recording) -> Told | None:
    """The first step of which one rank came to an end after fewer calls of the closure than another one made in it."""
    for ours, theirs in zip(_steps(here), _steps(there), strict=False):
        less, more = sorted((ours, theirs), key=lambda one: len(one.calls))
        if len(less.calls) < len(more.calls):
            recording = there if more is theirs else here
            site = _returned(recording, more.calls[-1].stack) if less.over and less.calls else None
            return None if site is None else (WHY, site)
    return None


def _steps(recording: Recording) -> list[_Step]:
    """The steps of a run in order, of all optimizers."""
    calls = {call.number: call for call in recording.backwards()}
    found: list[_Step] = []
    for interval in recording.intervals():
        call = None if interval.backward is None else calls.get(interval.backward)
        inside = call is not None and _closure(call.stack) is not None
        began = sum(one.kind is STEP for one in interval.calls)
        if found and (began or (call is not None and not inside)):
            found[-1].over = True
        found += [_Step([], over=at + 1 < began) for at in range(began)]
        if found and call is not None and inside:
            found[-1].calls.append(call)
    return found


def _closure(stack: Stack) -> Site | None:
    """The user's frame that an optimizer called, innermost of those."""
    found: Site | None = None
    for site in stack:
        if site.origin is Origin.USER:
            found = site
        elif _OPTIMIZERS in site.file:
            return found
    return None


def _returned(recording: Recording, stack: Stack) -> Site | None:
    """The last line by which a closure gives its loss to the optimizer."""
    site = _closure(stack)
    function = None if site is None else function_around(tree_of(recording, site), site.line)
    if site is None or function is None:
        return site
    lines = [node.lineno for node in _of(function) if isinstance(node, ast.Return) and node.value is not None]
    return at_line(recording, site, max(lines)) if lines else site


def _of(function: Function) -> list[ast.AST]:
    """What stands in a function and not in those inside of it."""
    found: list[ast.AST] = [*function.body]
    for node in found:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            found += ast.iter_child_nodes(node)
    return found
