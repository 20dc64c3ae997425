"""The line that keeps for the next round what a function has made and handed out: a store of states, an attribute, a
variable of the loop.

The value is right where it is made; it outlives its round on another line, and should be detached there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.deductions.memory.carried_state import values_on_self
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.source_names import carries, followed
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name
from gradscope.model.site import Site, Stack, user_frames

_DETACHES = ("detach", "detach_", "data", "item")
Places = frozenset[int] | None


@dataclass(frozen=True, slots=True)
class _Received:
    """Where the loop around a backward is given a value, and into what it puts it."""

    site: Site
    statement: ast.Assign
    targets: tuple[ast.expr, ...]
    is_made_here: bool

    @property
    def names(self) -> set[str]:
        """Its plain names."""
        return {one.id for one in self.targets if isinstance(one, ast.Name)}


def kept_for_rounds(case: Case, stack: Stack, backward: Stack) -> Site | None:
    """The only line that keeps what a stack's operator made beyond its round; None where a variable of the loop does.

    The loop is the innermost around a backward, in its function or in one that calls it.
    """
    within = next((site for site in user_frames(backward) if syntax(case).loop(site) is not None), None)
    loop = None if within is None else syntax(case).loop(within)
    received = None if within is None or loop is None else _received(case, user_frames(stack), within)
    if received is None and within is not None and loop is not None:
        return _kept_in_a_round(case, user_frames(stack), within, loop)
    if received is None or loop is None or not _is_in(loop, received.site):
        return None
    kept = [one for one in received.targets if isinstance(one, (ast.Attribute, ast.Subscript))]
    if kept:
        return received.site if len(kept) == len(received.targets) and not received.is_made_here else None
    names = {name for name in received.names if not _is_carried_by(loop, name)}
    found = set(_stores(case, received, loop, names))
    return found.pop() if len(found) == 1 else None


def carried_by_the_loop(case: Case, stack: Stack, backward: Stack) -> tuple[Site, str] | None:
    """The line by which the loop around a backward takes a value out of functions into a variable that its next round
    reads, and this variable. None where the loop itself computes it, or where the variable is not clear."""
    within = next((site for site in user_frames(backward) if syntax(case).loop(site) is not None), None)
    loop = None if within is None else syntax(case).loop(within)
    received = None if within is None else _received(case, user_frames(stack), within)
    if loop is None or received is None or received.is_made_here or not _is_in(loop, received.site):
        return None
    carried = [name for name in received.names if _is_carried_by(loop, name)]
    return (received.site, carried[0]) if len(carried) == 1 else None


def _is_in(loop: ast.For | ast.While, site: Site) -> bool:
    return loop.lineno < site.line <= (loop.end_lineno or 0)


def _kept_in_a_round(case: Case, frames: tuple[Site, ...], within: Site, loop: ast.For | ast.While) -> Site | None:
    """The only line that keeps a value on self in a function which the loop calls in each round, and which was given
    the value by the functions that return it."""
    calls = [at for at, site in enumerate(frames) if site.is_in_function_of(within) and _is_in(loop, site)]
    received = _handed_out(case, frames[: calls[0]]) if calls else None
    function = None if received is None else syntax(case).function(received.site)
    if received is None or received.is_made_here or function is None:
        return None
    names = followed(function, received.names) - {"self"}
    later = (one for one in ast.walk(function) if isinstance(one, ast.Assign) and one.lineno > received.site.line)
    found = {one.lineno for one in later if any(_keeps(value, names) for value in values_on_self(one))}
    return syntax(case).site(received.site.file, found.pop(), received.site.function) if len(found) == 1 else None


def _received(case: Case, frames: tuple[Site, ...], within: Site) -> _Received | None:
    """Follow a value out of the functions that return it, up to the function of a backward."""
    received = _handed_out(case, frames, within)
    return received if received is not None and received.site.is_in_function_of(within) else None


def _handed_out(case: Case, frames: tuple[Site, ...], within: Site | None = None) -> _Received | None:
    """Follow a value out of the functions that return it, up to one that does not, or to that of a line."""
    places: Places = None
    for depth, site in enumerate(frames):
        statement = syntax(case).parsed(site.file).whole_statements.get(site.line)
        function = syntax(case).function(site)
        if isinstance(statement, ast.Return):
            continue
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or function is None:
            return None
        targets = _at(statement.targets[0], places)
        received = _Received(site, statement, targets, depth == 0)
        returned = _returned(function, received.names)
        if not returned or (within is not None and site.is_in_function_of(within)):
            return received
        places = None if None in returned else frozenset(one for one in returned if one is not None)
    return None


def _at(target: ast.expr, places: Places) -> tuple[ast.expr, ...]:
    """The parts of an assignment's target at some places; all where these are not known."""
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    is_taken_apart = isinstance(target, ast.Tuple) and not any(isinstance(one, ast.Starred) for one in parts)
    wanted = places if is_taken_apart else None
    return tuple(part for place, part in enumerate(parts) if wanted is None or place in wanted)


def _returned(function: ast.AST, names: set[str]) -> set[int | None]:
    """The places at which a function returns what is computed of some names; None for all that it returns."""
    known = followed(function, names)
    found: set[int | None] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
            found |= {place for place, part in enumerate(node.value.elts) if carries(part, known)}
        elif isinstance(node, ast.Return) and carries(node.value, known):
            found.add(None)
    return found


def _is_carried_by(loop: ast.For | ast.While, name: str) -> bool:
    """Whether a round reads a variable before it sets it: the variable itself takes the value into the next round."""
    uses = [node for node in ast.walk(loop) if isinstance(node, ast.Name) and node.id == name]
    first = min(uses, key=lambda node: (node.lineno, isinstance(node.ctx, ast.Store)))
    return isinstance(first.ctx, ast.Load)


def _stores(case: Case, received: _Received, loop: ast.For | ast.While, names: set[str]) -> Iterator[Site]:
    """The later lines of a round that put one of some names where the next round finds it."""
    end = received.statement.end_lineno or received.statement.lineno
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign) and node.lineno > end:
            if any(isinstance(one, (ast.Attribute, ast.Subscript)) for one in node.targets) and _keeps(
                node.value, names
            ):
                yield syntax(case).site(received.site.file, node.lineno, received.site.function)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and node.lineno > end:
            yield from _stored_by(case, node.value, names)


def _keeps(value: ast.expr, names: set[str]) -> bool:
    """Whether one of some names is put away as it is."""
    return carries(value, names) and not any(getattr(one, "attr", None) in _DETACHES for one in ast.walk(value))


def _stored_by(case: Case, call: ast.Call, names: set[str]) -> Iterator[Site]:
    """The lines of the program's methods of this name that store on self what they are handed of some names."""
    by_place = {place for place, one in enumerate(call.args) if isinstance(one, ast.Name) and one.id in names}
    by_name = {one.arg for one in call.keywords if isinstance(one.value, ast.Name) and one.value.id in names}
    called = called_name(call)
    if not by_place and not by_name:
        return
    for file in syntax(case).files:
        for method in syntax(case).nodes(file):
            if isinstance(method, ast.FunctionDef) and method.name == called:
                own = [one.arg for one in method.args.args[1:]]
                given = {name for place, name in enumerate(own) if place in by_place or name in by_name}
                known = followed(method, given) - {"self"}
                for one in ast.walk(method):
                    if isinstance(one, ast.Assign) and any(_keeps(value, known) for value in values_on_self(one)):
                        yield syntax(case).site(file, one.lineno, called)
