"""An optimizer that holds parameters which fully_shard() has put others in the place of."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from dataclasses import dataclass

from gradscope.functions.source import called_name, names_in
from gradscope.model.flow import GradientState
from gradscope.model.site import Origin, Site, Stack, user_site
from gradscope.model.training import MADE
from gradscope.ranks.source.passing import parting
from gradscope.ranks.source.syntax import at_line, function_around, nodes_of, tree_of
from gradscope.store.reader import Recording

_PARTS = "fully_shard"
_LISTS = frozenset(("parameters", "named_parameters"))
_FAR = 3  # functions in one another that list parameters
_States = dict[int, dict[int, set[GradientState]]]  # by optimizer and parameter, those at its steps


@dataclass(frozen=True, slots=True)
class Early:
    """The line of an optimizer, or of what it was given, that which parts its parameters, how many of these were parted
    before, and whether it holds others."""

    made: Site
    parted: Site
    held: int
    holds_others: bool = False


def made_before_parting(recording: Recording) -> Early | None:
    """The first optimizer that holds parameters as they were before they were parted, none of which ever had a gradient
    at a step: all that it holds, or a part, where nobody holds what was put in the place of these."""
    parted: dict[int, Stack] = {}
    for one in recording.flow():
        if one.backward is None and _parts(one.operation.stack):
            parted.update({read.tensor: one.operation.stack for read in one.reads if read.leaf})
    states = _states(recording) if parted else {}
    trained = len({tensor for held in states.values() for tensor, seen in held.items() if GradientState.VALUES in seen})
    for optimizer, held_by in states.items():
        stale = [one for one, seen in held_by.items() if one in parted and seen == {GradientState.NONE}]
        others = len(held_by) - len(stale)
        if not stale or (others and trained + len(stale) > _reached(recording)):
            continue
        stack = parted[max(stale)]
        made, by = _made(recording, optimizer), user_site(stack)
        if made and by is not None:
            ways = parting(made, stack)
            site = user_site(made) if ways is None else _listed(recording, *ways)
            return None if site is None else Early(site, by if ways is None else ways[1], len(stale), others > 0)
    return None


def _states(recording: Recording) -> _States:
    states: _States = defaultdict(lambda: defaultdict(set))
    for look in recording.optimizer_looks():
        for held in look.parameters:
            states[look.optimizer][held.tensor].add(held.state)
    return states


def _reached(recording: Recording) -> int:
    """How many leaves a backward accumulates into, at most."""
    return max(Counter(one.backward for one in recording.leaf_gradients()).values(), default=0)


def _listed(recording: Recording, made: Site, parted: Site) -> Site:
    """The line by which an optimizer is made; where it comes after that which parts the parameters, the last one above
    both, in their function, that lists parameters which it is given."""
    function = function_around(tree_of(recording, made), made.line) or tree_of(recording, made)
    statements = [node for node in ast.walk(function) if isinstance(node, ast.stmt)]
    around = [node for node in statements if node.lineno <= made.line <= (node.end_lineno or 0)]
    if made.line < parted.line or not around:
        return made
    bound = [node for node in statements if isinstance(node, ast.Assign | ast.AnnAssign) and node.lineno < made.line]
    names = _given(max(around, key=lambda one: one.lineno), [node for node in bound if node.lineno > parted.line])
    listing = [node for node in bound if node.lineno < parted.line and _lists(recording, made, node)]
    lines = [node.lineno for node in listing if any(_binds(node, name) for name in names)]
    return at_line(recording, made, max(lines)) if lines else made


def _given(statement: ast.stmt, bound: list[ast.Assign | ast.AnnAssign]) -> set[str]:
    """The names that a statement goes back to, by some assignments."""
    names, waiting = set[str](), [*names_in(statement)]
    while waiting:
        name = waiting.pop()
        if name not in names:
            names.add(name)
            waiting += [one for node in bound if _binds(node, name) for one in names_in(node)]
    return names


def _binds(node: ast.Assign | ast.AnnAssign, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(one, ast.Name) and one.id == name for each in targets for one in ast.walk(each))


def _lists(recording: Recording, site: Site, node: ast.AST, far: int = _FAR) -> bool:
    """Whether it calls what lists parameters, by way of functions of its file as well."""
    called = {called_name(one) for one in ast.walk(node) if isinstance(one, ast.Call)}
    if called & _LISTS or not far:
        return bool(called & _LISTS)
    functions = (one for one in nodes_of(tree_of(recording, site)) if isinstance(one, ast.FunctionDef))
    return any(_lists(recording, site, one, far - 1) for one in functions if one.name in called)


def _parts(stack: Stack) -> bool:
    return any(site.function == _PARTS and site.origin is not Origin.USER for site in stack)


def _made(recording: Recording, optimizer: int) -> Stack:
    """Where an optimizer was made."""
    for interval in recording.intervals():
        for call in interval.calls:
            if call.kind is MADE and call.optimizer == optimizer:
                return call.stack
    return ()
