"""Finds what a program carries from call to call of a model with its history, when no backward comes any more."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gradscope.explain.evidence.block_calls import Stretch, stretches
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.source_names import targets
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.flow import FlowOperation
from gradscope.model.site import Site, Stack, user_frames

_MOST_OPERATORS = 50_000  # that are gone through: a loop has repeated itself by then
_CALLED = ("forward", "__call__")
Call = tuple[int, int]  # a stretch of operators, and the place of an outermost module call in it


@dataclass(frozen=True, slots=True)
class CarriedHistory:
    """What a line gives an attribute or a place: behind it are the graphs of `calls` calls, one more each time."""

    site: Site
    target: str
    calls: int


@dataclass(frozen=True, slots=True)
class _Behind:
    """What the graph behind a tensor holds: so many calls, the last of them, and where it was stored since."""

    calls: int = 0
    last: Call | None = None
    stored: Site | None = None


def carried_histories(case: Case) -> Iterator[CarriedHistory]:
    """Those that begin after the last backward call and are never begun anew."""
    over = {block.number for one in stretches(case) if one.backward is None for block in one.blocks}
    flow = dataflow(case)
    late = [one for one in flow.operations if one.run in over and one.operation.grad][:_MOST_OPERATORS]
    counts: dict[Site, dict[Call, int]] = defaultdict(dict)
    for site, call, calls in _carried(case, late):
        counts[site][call] = max(calls, counts[site].get(call, 0))  # one that two blocks share reads of itself, too
    for site, by_call in counts.items():
        found = list(by_call.values())
        if found == sorted(found):
            yield CarriedHistory(site, _Places(case).target(site), found[-1])


def _carried(case: Case, operations: list[FlowOperation]) -> Iterator[tuple[Site, Call, int]]:
    """Where something was stored that a later call of a model reads, that call, and how many calls are behind it."""
    behind: dict[int, _Behind] = {}
    places, nothing = _Places(case), _Behind()
    for operation in operations:
        known = [behind.get(one.tensor, nothing) for one in operation.reads if one.requires_grad]
        if not known:
            continue
        most, module = max(known, key=lambda one: one.calls), operation.operation.module
        if module is not None and (at := (operation.run, module.outermost.position)) != most.last:
            if most.stored is not None:
                yield most.stored, at, most.calls
            most = _Behind(most.calls + 1, at)
        stored = places.of(operation.operation.stack) or most.stored
        behind.update(dict.fromkeys(operation.makes, replace(most, stored=stored)))


class _Places:
    """Where the program stores what its lines compute: as an attribute, or in a container."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._known: dict[Stack, Site | None] = {}

    def of(self, stack: Stack) -> Site | None:
        """The line that stores the result of an operator: its own, or that of the call which returns it."""
        if stack not in self._known:
            self._known[stack] = self._find(user_frames(stack))
        return self._known[stack]

    def _find(self, own: Stack) -> Site | None:
        for site in own:
            statement = syntax(self._case).statement(site)
            found = self._storing(site, statement)
            if found is not None:
                return found
            if site.function not in _CALLED and not isinstance(statement, ast.Return):
                return None
        return None

    def _storing(self, site: Site, statement: ast.stmt | None) -> Site | None:
        """The statement itself, or one of its function that stores the name which it gives the result."""
        if not isinstance(statement, ast.Assign):
            return None
        if _stored(statement):
            return site
        function, names = syntax(self._case).function(site), targets(statement)
        for one in ast.walk(function) if function is not None else ():
            given = one.value if isinstance(one, ast.Assign) and _stored(one) else None
            if isinstance(given, ast.Name) and given.id in names:
                return syntax(self._case).site(site.file, given.lineno, site.function)
        return None

    def target(self, site: Site) -> str:
        """The attribute, or the place in a container, that a line gives a value, as it is written."""
        return _stored(syntax(self._case).statement(site))


def _stored(statement: ast.stmt | None) -> str:
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return next((ast.unparse(one) for one in parts if isinstance(one, ast.Attribute | ast.Subscript)), "")


def most_calls(case: Case) -> int:
    """The most calls of models with gradients on between two backward calls."""
    known: dict[int, int] = {}
    return max((_calls(one, known) for one in stretches(case) if one.backward is not None), default=0)


def _calls(stretch: Stretch, known: dict[int, int]) -> int:
    for block in stretch.blocks:
        if id(block.operations) not in known:
            modules = {id(one.module): one.module for one in block.operations if one.grad and one.module is not None}
            known[id(block.operations)] = len({one.outermost.position for one in modules.values()})
    return sum(known[id(block.operations)] for block in stretch.blocks)
