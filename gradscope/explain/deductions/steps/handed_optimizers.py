"""Where a function that hands its optimizer on to a training has a layer exchanged, in another one that has none.

A method of the model that makes smaller layers can't know of the optimizer. Whoever calls it can: there the optimizer
is to be made anew, before it is handed on again.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from gradscope.explain.deductions.lines.settings import calls_at, handed_in
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.optimizers import creation
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import timelines
from gradscope.functions.source import called_name
from gradscope.model.site import Site, Stack, user_frames
from gradscope.model.training import SCALED_STEP, STEP


def planning_line(case: Case, made: Stack, optimizer: int | None, put: Site | None) -> Site | None:
    """The innermost call on the way to where a layer was `made` that stands in a function which hands the optimizer on.

    `put`, where a function further in has one: it makes it, steps it or is given it; or where the layer is put in
    place in that function itself.
    """
    handing = _handing(case, optimizer)
    around = {syntax(case).function(site) for site in user_frames(creation(case, optimizer))[:1]}
    for inner, site in enumerate(user_frames(made)):
        function = syntax(case).function(site)
        names = handing.get(function)
        if names and inner and not site.is_in_function_of(put) and not _gives(case, site, names):
            return source_lines.head(case, site)
        if names is not None or function in around:
            return put
    return put


def _handing(case: Case, optimizer: int | None) -> dict[ast.AST | None, set[str]]:
    """The functions that have an optimizer at hand, with the names by which they hand it on; none where they step it
    only."""
    found: dict[ast.AST | None, set[str]] = defaultdict(set)
    for timeline in timelines(case):
        steps = (call for _, call in timeline.of(STEP, SCALED_STEP) if call.optimizer == optimizer)
        for stack in {id(call.stack): call.stack for call in steps}.values():
            own = user_frames(stack)
            found[syntax(case).function(own[0]) if own else None] |= set()
            for function, name in _handed(case, own):
                found[function].add(name)
    return found


def _handed(case: Case, own: Stack) -> Iterator[tuple[ast.AST | None, str]]:
    """From the line of a step outwards: the functions that give what steps to the next, by a name of theirs."""
    for stepped in _stepped(case, own[0]) if own else ():
        name = stepped
        for at in range(len(own) - 1):
            function = syntax(case).function(own[at])
            value = handed_in(case, own[at:], function, name) if isinstance(function, ast.FunctionDef) else None
            if not isinstance(value, ast.Name):
                break
            name = value.id
            yield syntax(case).function(own[at + 1]), name


def _stepped(case: Case, site: Site) -> Iterator[str]:
    """`optimizer` of `optimizer.step()`; of `scaler.step(optimizer)` both."""
    for call in calls_at(case, site):
        if called_name(call) == "step" and isinstance(call.func, ast.Attribute):
            yield from (one.id for one in (call.func.value, *call.args) if isinstance(one, ast.Name))


def _gives(case: Case, site: Site, names: set[str]) -> bool:
    """Whether a line's calls are given the optimizer as well."""
    given = (value for call in calls_at(case, site) for value in (*call.args, *(one.value for one in call.keywords)))
    return any(isinstance(value, ast.Name) and value.id in names for value in given)
