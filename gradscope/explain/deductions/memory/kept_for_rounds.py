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
from gradscope.explain.evidence.rounds import is_carried_by, reads_of_before
from gradscope.explain.evidence.source_names import carries, followed
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name
from gradscope.model.site import Site, Stack, user_frames

_PUTS = ("append", "appendleft", "add", "insert", "extend", "put", "update")
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
    names = {name for name in received.names if not is_carried_by(loop, name)}
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
    carried = [name for name in received.names if is_carried_by(loop, name)]
    return (received.site, carried[0]) if len(carried) == 1 else None


def rebound_by_the_loop(case: Case, stack: Stack, backward: Stack, reader: Stack) -> tuple[Site, str] | None:
    """The line of the loop around a backward that puts a value, received under one name, where the next round reads it,
    and this place: `state = last`, `states.append(last)`. None where the name it was received under goes on itself."""
    within = next((site for site in user_frames(backward) if syntax(case).loop(site) is not None), None)
    loop = None if within is None else syntax(case).loop(within)
    received = None if within is None else _received(case, user_frames(stack), within)
    if loop is None or received is None or not _is_in(loop, received.site) or not received.names:
        return None
    if any(is_carried_by(loop, name) for name in received.names):
        return None
    found = list(_rebound(loop, received, received.names))
    found = found or list(_rebound(loop, received, followed(loop, received.names)))
    reading = {site.line for site in user_frames(reader) if site.is_in_function_of(received.site)}
    sure = [one for one in found if any(_is_named_on(loop, line, one[1]) for line in reading)] or found
    line, place = min(sure, default=(0, ""))
    return (syntax(case).site(received.site.file, line, received.site.function), place) if sure else None


def _rebound(loop: ast.For | ast.While, received: _Received, names: set[str]) -> Iterator[tuple[int, str]]:
    """The later lines of a round by which a name, or a container, takes what has one of some names into the next."""
    end = received.statement.end_lineno or received.statement.lineno
    for node in ast.walk(loop):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.lineno > end:
            for target, value in _pairs(node):
                if isinstance(target, ast.Name) and _keeps(value, names) and _is_read_next(loop, target.id):
                    yield node.lineno, target.id
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and node.lineno > end:
            owner = node.value.func.value if isinstance(node.value.func, ast.Attribute) else None
            puts = called_name(node.value) in _PUTS and any(_keeps(one, names) for one in node.value.args)
            if puts and owner is not None and _is_looked_into(loop, owner):
                yield node.lineno, ast.unparse(owner)


def _pairs(assign: ast.Assign | ast.AnnAssign) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """What an assignment sets, and to what: of `hidden, turn = last, turn + 1` each by itself."""
    value = assign.value
    for target in assign.targets if isinstance(assign, ast.Assign) else [assign.target]:
        places = target.elts if isinstance(target, ast.Tuple) else [target]
        values = value.elts if isinstance(value, ast.Tuple) and isinstance(target, ast.Tuple) else []
        yield from zip(places, values if len(values) == len(places) else [value] * len(places), strict=True)


def _is_read_next(loop: ast.For | ast.While, name: str) -> bool:
    """Whether the next round reads a variable before it sets it, and not only what detach() gives of it."""
    detached = {id(one.value) for one in ast.walk(loop) if isinstance(one, ast.Attribute) and one.attr in _DETACHES}
    return is_carried_by(loop, name) and any(id(one) not in detached for one in reads_of_before(loop, name))


def _is_looked_into(loop: ast.For | ast.While, owner: ast.expr) -> bool:
    """Whether a round takes something out of a container that the loop was given: `states[-1]`."""
    if isinstance(owner, ast.Name) and not is_carried_by(loop, owner.id):
        return False
    text = ast.unparse(owner)
    taken = (one for one in ast.walk(loop) if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Load))
    detached = {id(one.value) for one in ast.walk(loop) if isinstance(one, ast.Attribute) and one.attr in _DETACHES}
    return any(ast.unparse(one.value) == text and id(one) not in detached for one in taken)


def _is_named_on(loop: ast.For | ast.While, line: int, place: str) -> bool:
    """Whether an expression stands on a line of a loop."""
    here = (one for one in ast.walk(loop) if isinstance(one, ast.expr) and one.lineno == line)
    return any(ast.unparse(one) == place for one in here)


def _is_in(loop: ast.For | ast.While, site: Site) -> bool:
    return loop.lineno < site.line <= (loop.end_lineno or 0)


def _kept_in_a_round(case: Case, frames: tuple[Site, ...], within: Site, loop: ast.For | ast.While) -> Site | None:
    """The only line that keeps a value on self, or in a global name, in a function which the loop calls in each round,
    and which was given the value by the functions that return it."""
    calls = [at for at, site in enumerate(frames) if site.is_in_function_of(within) and _is_in(loop, site)]
    received = _handed_out(case, frames[: calls[0]]) if calls else None
    function = None if received is None else syntax(case).function(received.site)
    if received is None or received.is_made_here or function is None:
        return None
    names = followed(function, received.names) - {"self"}
    later = (one for one in ast.walk(function) if isinstance(one, ast.Assign) and one.lineno > received.site.line)
    own = {name for one in ast.walk(function) if isinstance(one, (ast.Global, ast.Nonlocal)) for name in one.names}
    kept = ((one.lineno, value) for one in later for value in (*values_on_self(one), *_values_of(one, own)))
    found = {line for line, value in kept if _keeps(value, names)}
    return syntax(case).site(received.site.file, found.pop(), received.site.function) if len(found) == 1 else None


def _values_of(assign: ast.Assign, names: set[str]) -> Iterator[ast.expr | None]:
    """What an assignment gives to some names."""
    yield from (value for target, value in _pairs(assign) if isinstance(target, ast.Name) and target.id in names)


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


def _keeps(value: ast.expr | None, names: set[str]) -> bool:
    """Whether one of some names is put away as it is."""
    return (
        value is not None
        and carries(value, names)
        and not any(getattr(one, "attr", None) in _DETACHES for one in ast.walk(value))
    )


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
